"""The contract all backbones keep: outputs, freezing, checkpointing, layer depths, what they all take."""

import inspect
from abc import ABCMeta
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from huggingface_hub import PyTorchModelHubMixin
from mmengine.model import BaseModule
from timm.layers import trunc_normal_
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from csan_mm.backbones.archs import name_of
from csan_mm.backbones.feature_info import FeatureInfo
from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.common.norms import build_norm
from csan_mm.common.settings import without_init_cfg
from csan_mm.layers.memory_format import format_of


def resolve_out_indices(out_indices: int | Sequence[int], num_levels: int) -> tuple[int, ...]:
    """Ascending, non-negative output levels; negative ones count from the end.

    Raises:
        ValueError: An index out of range, a repeated one, or none.
    """
    wanted = (out_indices,) if isinstance(out_indices, int) else tuple(out_indices)
    levels = [index + num_levels if index < 0 else index for index in wanted]
    if not levels or len(set(levels)) < len(levels) or not all(0 <= level < num_levels for level in levels):
        raise ArgumentError(
            f"out_indices={out_indices!r} is out of range: take different ones from 0 to {num_levels - 1}"
        )
    return tuple(sorted(levels))


def drop_path_rates(rate: float, depths: Sequence[int]) -> list[list[float]]:
    """Stochastic depth per stage and block, growing linearly over all blocks from 0 to ``rate``.

    Raises:
        ValueError: ``rate`` is out of range.
    """
    if not 0 <= rate < 1:
        raise ArgumentError(f"drop_path_rate={rate!r} is a probability: take one from 0 up to, not including, 1")
    last = max(1, sum(depths) - 1)
    first = [sum(depths[:i]) for i in range(len(depths))]
    return [[rate * block / last for block in range(start, start + depth)] for start, depth in zip(first, depths)]


def check_image(image: Tensor) -> Tensor:
    """The image batch itself, if it is one.

    Raises:
        ValueError: It does not have four axes.
    """
    if image.dim() != 4:
        cure = "add the batch axis with image[None]" if image.dim() == 3 else "take images (B, in_channels, H, W)"
        raise ArgumentError(
            f"image of shape {tuple(image.shape)} is not a batch of images (B, in_channels, H, W): {cure}"
        )
    return image


def init_weights_(module: nn.Module) -> None:
    """The papers' start for Linear and LayerNorm: truncated normal 0.02, zero bias; 1 / 0. For ``module.apply``."""
    if isinstance(module, nn.Linear):
        trunc_normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.LayerNorm):
        nn.init.ones_(module.weight)
        nn.init.zeros_(module.bias)


class _FinishedWhenBuilt(ABCMeta):
    """Calls a backbone's ``finish`` behind its constructor, so that no subclass can forget it."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        backbone = super().__call__(*args, **options)
        backbone.finish()
        return backbone


class DenseBackbone(
    BaseModule, PyTorchModelHubMixin, metaclass=_FinishedWhenBuilt, library_name="csan_mm", license="apache-2.0"
):
    """Base of all backbones: image (B, 3, H, W) -> tuple of maps (B, C_i, ceil(H / stride_i), ceil(W / stride_i)).

    A subclass calls this constructor and builds its parts; :meth:`finish` then runs by itself. Maps are contiguous, in
    channels_last where the image is.

    A subclass says of its own arguments what they are and hands all others up as ``**shared``. ``inspect.signature`` and ``help``
    show both.

    Args:
        channels: Width of every level.
        strides: Stride of every level.
        depths: Number of blocks of every level.
        out_indices: Levels to return, ascending; negative ones count from the last. Levels above the highest are not built,
            so that every parameter gets a gradient. Default: (0, 1, 2, 3).
        frozen_stages: As in mmdet: -1 freezes nothing, 0 the stem, k the stem and the first k stages with their output norms.
            Frozen parts get no gradient and stay in eval mode. Default: -1.
        norm_eval: Keep batch norms (SyncBN too) in eval mode. Default: False.
        with_cp: Recompute blocks in the backward pass to save memory. Default: False.
        norm_cfg: One output norm per returned level; ``None`` (default): raw stage outputs.
        init_cfg: See mmengine's BaseModule; ``dict(type='csan_mm.Pretrained', checkpoint=..., source=...)`` loads weights.
            Default: None.

    ``save_pretrained(folder)`` and ``from_pretrained(folder)`` (huggingface_hub's mixin) keep a backbone as config.json and
    model.safetensors.

    Attributes:
        channels (tuple[int]): Width of every returned map.
        strides (tuple[int]): Stride of every returned map.
        out_indices (tuple[int]): The returned levels.

    Raises:
        ValueError: ``out_indices`` or ``frozen_stages`` out of range.
        TypeError: An argument that neither the subclass nor this class takes.
    """

    #: Named variants: name -> dims.
    archs: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        signature = _with_shared(cls)
        cls.__init__.__signature__ = signature
        cls.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
        super().__init_subclass__(**options)

    def __init__(
        self,
        channels: Sequence[int],
        strides: Sequence[int],
        depths: Sequence[int],
        /,
        out_indices: int | Sequence[int] = (0, 1, 2, 3),
        frozen_stages: int = -1,
        norm_eval: bool = False,
        with_cp: bool = False,
        norm_cfg: dict[str, Any] | None = None,
        init_cfg: dict[str, Any] | list[dict[str, Any]] | None = None,
        **unknown: Any,
    ) -> None:
        for name in unknown:  # as Python says it, of the class that was called
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument {name!r}")
        check_arguments(locals())
        super().__init__(init_cfg=init_cfg)
        self.out_indices = resolve_out_indices(out_indices, len(channels))
        if not -1 <= frozen_stages <= len(depths):
            raise ArgumentError(
                f"frozen_stages={frozen_stages!r} is out of range: take -1 (nothing) to {len(depths)} (everything)"
            )
        self.frozen_stages = frozen_stages
        self.norm_eval = norm_eval
        self.with_cp = with_cp
        self.norm_cfg = norm_cfg
        self.depths = tuple(depths)
        self.channels = tuple(channels[i] for i in self.out_indices)
        self.strides = tuple(strides[i] for i in self.out_indices)

    def save_pretrained(
        self, save_directory: str | Path, *, config: dict[str, Any] | None = None, **options: Any
    ) -> Any:
        """huggingface_hub's, with a config.json that does not name the files this backbone was trained from."""
        config = without_init_cfg(self._hub_mixin_config if config is None else config)
        return super().save_pretrained(save_directory, config=config, **options)

    def forward(self, image: Tensor) -> tuple[Tensor, ...]:
        """Image (B, in_channels, H, W) -> one output per ``out_indices``."""
        return self.levels(image, self.out_indices)

    def levels(self, image: Tensor, wanted: Sequence[int]) -> tuple[Tensor, ...]:
        """Image (B, in_channels, H, W) -> the outputs of some levels that are built, ascending; the rest is :meth:`forward`'s."""
        raise NotImplementedError(f"{type(self).__name__} must say how an image passes its stages")

    @property
    def feature_info(self) -> FeatureInfo:
        """The returned maps as timm lists them: a list of dicts that has ``channels()``, ``reduction()``, ``module_name()``."""
        rows = zip(self.channels, self.strides, self.out_indices)
        return FeatureInfo(
            {"num_chs": width, "reduction": stride, "index": level, "module": self.source_of(level)}
            for width, stride, level in rows
        )

    def source_of(self, level: int) -> str:
        """Name of the module that makes a level's map: its output norm, or where there is none, its stage."""
        return f"norm{level}" if hasattr(self, f"norm{level}") else self.stage_name(level)

    def stage_name(self, level: int) -> str:
        """Name of the module whose output is a level's raw map."""
        raise NotImplementedError(f"{type(self).__name__} must say which module ends a level")

    @property
    def num_built(self) -> int:
        """Number of stages that exist: up to the highest returned level."""
        return max(self.out_indices) + 1

    def parts(self) -> list[list[nn.Module | nn.Parameter]]:
        """The stem, then each stage, as lists of modules and parameters; what ``frozen_stages`` counts."""
        raise NotImplementedError(f"{type(self).__name__} must say what its stem and stages are")

    def finish(self) -> None:
        """Initialise what is there, add the output norms, freeze; runs behind every constructor."""
        self.apply(self.init_module_)
        if self.norm_cfg is not None:
            width = dict(zip(self.out_indices, self.channels))
            build_norm("norm_cfg", self.norm_cfg, self.channels[0])  # a final norm may stand in place of all
            for index in self.normed_levels():
                self.add_module(f"norm{index}", build_norm("norm_cfg", self.norm_cfg, width[index]))
        for part in self._frozen_parts():
            for parameter in [part] if isinstance(part, nn.Parameter) else part.parameters():
                parameter.requires_grad_(False)
        self.train()

    @staticmethod
    def init_module_(module: nn.Module) -> None:
        """How one module starts, applied to all of them; a family that starts otherwise overrides it."""
        init_weights_(module)

    def normed_levels(self) -> tuple[int, ...]:
        """The returned levels that get an output norm of their own."""
        return self.out_indices

    def _frozen_parts(self) -> list[nn.Module | nn.Parameter]:
        frozen = [part for group in self.parts()[: self.frozen_stages + 1] for part in group]
        norms = [getattr(self, f"norm{index}", None) for index in self.out_indices if index < self.frozen_stages]
        return frozen + [norm for norm in norms if norm is not None]

    def train(self, mode: bool = True) -> "DenseBackbone":
        """Switch the mode; frozen parts, and batch norms under ``norm_eval``, stay in eval mode."""
        super().train(mode)
        for part in self._frozen_parts():
            if isinstance(part, nn.Module):
                part.eval()
        for module in self.modules():
            if self.norm_eval and isinstance(module, _BatchNorm):
                module.eval()
        return self

    def run_block(self, block: Callable[..., Tensor], x: Tensor, *args: Any) -> Tensor:
        """Run a block, recomputing it in the backward pass under ``with_cp``."""
        if self.with_cp and torch.is_grad_enabled():
            return checkpoint(block, x, *args, use_reentrant=False)
        return block(x, *args)

    def output(self, x: Tensor, index: int, image: Tensor) -> Tensor:
        """A stage's map (B, H, W, C) as it leaves the backbone: normed, (B, C, H, W), in the image's memory format."""
        norm = getattr(self, f"norm{index}", None)
        if type(norm) is nn.LayerNorm:
            x, norm = norm(x), None
        x = x.permute(0, 3, 1, 2).contiguous(memory_format=format_of(image))
        return x if norm is None else norm(x)

    def block_of(self, param_name: str) -> int | None:
        """Number of the block (from 0, over all stages) a parameter belongs to; -1 for the stem, ``None`` behind the blocks."""
        raise NotImplementedError(f"{type(self).__name__} must say which block a parameter belongs to")

    def get_layer_depth(self, param_name: str, prefix: str = "") -> tuple[int, int]:
        """Depth of a parameter for layer-wise learning rate decay, in mmpretrain's sense.

        Args:
            param_name: Name of the parameter, prefix included.
            prefix: What stands before the backbone's own names, such as 'backbone.'. Default: ''.

        Returns:
            Its depth and the number of depths: 0 for the stem, 1 + i for block i, the last one for all that follows (output
            norms, and every parameter outside the prefix).
        """
        num_layers = sum(self.depths) + 2
        if not param_name.startswith(prefix):
            return num_layers - 1, num_layers
        block = self.block_of(param_name[len(prefix) :])
        return (num_layers - 1 if block is None else block + 1), num_layers

    @property
    def unbuilt_prefixes(self) -> tuple[str, ...]:
        """Names in a whole network's file that belong to levels above the highest returned one."""
        return ()

    def adapt_state_dict(self, state: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
        """Fit weights that depend on a size to this backbone's.

        Returns:
            The weights, and a note for each kind that was changed.
        """
        return state, []

    def guess_arch(self, state: dict[str, Tensor]) -> str | None:
        """The variant a state dict in our names belongs to, for messages; ``None`` if nothing can be said."""
        dims = self.read_dims(state)
        return name_of(dims, self.archs) if dims else None

    @classmethod
    def read_dims(cls, state: dict[str, Tensor]) -> dict[str, Any] | None:
        """The dims that a state dict in our names shows; ``None`` if it is not of this family."""
        return None

    def no_weight_decay(self) -> set[str]:
        """Names of the parameters that take no weight decay besides norms and biases."""
        return set()


def _with_shared(cls: type) -> inspect.Signature:
    """The signature of a constructor, with what the one above takes by name in place of ``**shared``."""
    signature = inspect.signature(cls.__init__)
    own = [entry for entry in signature.parameters.values() if entry.kind is not inspect.Parameter.VAR_KEYWORD]
    if len(own) == len(signature.parameters):
        return signature
    names = {"self", *(entry.name for entry in own)}
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    above = inspect.signature(cls.__mro__[1].__init__).parameters.values()
    shared = [entry for entry in above if entry.kind in by_name and entry.name not in names]
    return signature.replace(
        parameters=[*own, *(entry.replace(kind=inspect.Parameter.KEYWORD_ONLY) for entry in shared)]
    )
