"""WeightFormer: parameters that depend on the image in place of attention (arXiv 2605.01711).

No attention, no heads, no class token, no positions: its cost is linear in the number of tokens. Tokens are (B, N, C) on a
grid of H x W cells; parameter names are those of the official checkpoints.
"""

import re
from collections.abc import Sequence
from typing import Any

import torch
from timm.layers import DropPath
from torch import Tensor, nn
from torch.nn.functional import gelu

from csan_mm.backbones.archs import resolve_arch
from csan_mm.backbones.base import drop_path_rates
from csan_mm.backbones.isotropic import IsotropicBackbone
from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_choice, is_int
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.depthwise import DepthwiseConv2d
from csan_mm.layers.dynamic import DynamicLayer
from csan_mm.layers.dynamic_conv import CONV_STRATEGIES, DynamicDepthwiseConv
from csan_mm.layers.dynamic_linear import LINEAR_STRATEGIES, DynamicLinear
from csan_mm.layers.mlp import hidden_width
from csan_mm.layers.patches import PatchEmbed
from csan_mm.registry import MODELS

NORM_EPS = 1e-6

#: What still learns under ``frozen_stages='static'``: predictors, and what is new in dense prediction.
LEARNS = re.compile(r"\.(?:linear[12]|dwc)\.(?:wfm\.|w1$|w2$|amp\.|gain$)|^norm\d+\.|^pyramid\.")

ARCHS = {
    "tiny": {"embed_dims": 192, "depth": 17},
    "small": {"embed_dims": 384, "depth": 17},
    "base": {"embed_dims": 384, "depth": 17},  # the small network at 448 x 448
}


#: ``linear_strategy`` or ``conv_strategy`` of a layer without prediction, for the paper's tables of one dynamic layer alone.
STATIC = "static"

#: ``dynamic_linears`` -> which of a dynamic block's two linear layers are dynamic.
LINEARS = {"first": (True, False), "second": (False, True), "both": (True, True)}


class WeightFormerBlock(nn.Module):
    """x += dwconv3x3(x); x += drop(linear2(gelu(linear1(norm2(x))))); (B, N, C) -> (B, N, C).

    In a dynamic block x is normed first (the residual too starts from there), and dwconv and linear1 are dynamic; which of the
    three are is an option.

    Args:
        embed_dims: C.
        drop_path: Stochastic depth rate of the second branch; the first has none.
        mlp_ratio: Width between the linear layers over C.
        dynamic: The dynamic layers: options of the linear ones, ``linear``, of the convolution, ``conv`` (each ``None``: plain),
            and which linear ones, ``linears``. ``None``: a plain block.
    """

    def __init__(self, embed_dims: int, drop_path: float, mlp_ratio: float, dynamic: dict[str, Any] | None) -> None:
        super().__init__()
        hidden = hidden_width(embed_dims, mlp_ratio)
        self.dynamic = dynamic is not None
        self.norm2 = nn.LayerNorm(embed_dims, eps=NORM_EPS)
        if self.dynamic:
            self.norm1 = nn.LayerNorm(embed_dims, eps=NORM_EPS)
        options = dynamic or {"linear": None, "conv": None, "linears": (False, False)}
        linear, (first, second) = options["linear"], options["linears"]
        conv = options["conv"]
        self.dwc = DepthwiseConv2d(embed_dims, 3) if conv is None else DynamicDepthwiseConv(embed_dims, **conv)
        self.linear1 = _linear(embed_dims, hidden, linear if first else None)
        self.linear2 = _linear(hidden, embed_dims, linear if second else None)
        self.drop_path = DropPath(drop_path)

    def forward(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """Run the block on tokens that form ``grid``."""
        if self.dynamic:
            x = self.norm1(x)
        if isinstance(self.dwc, DynamicLayer):
            x = x + self.dwc(x, grid)
        else:
            x = x + self.dwc(as_maps(x, grid)).flatten(2).transpose(1, 2)
        y = gelu(_apply(self.linear1, self.norm2(x), grid))
        return x + self.drop_path(_apply(self.linear2, y, grid))


def _linear(in_features: int, out_features: int, dynamic: dict[str, Any] | None) -> nn.Module:
    return (
        nn.Linear(in_features, out_features) if dynamic is None else DynamicLinear(in_features, out_features, **dynamic)
    )


def _apply(linear: nn.Module, x: Tensor, grid: tuple[int, int]) -> Tensor:
    return linear(x, grid) if isinstance(linear, DynamicLayer) else linear(x)


def as_maps(x: Tensor, grid: tuple[int, int]) -> Tensor:
    """(B, N, C) -> (B, C, H, W): a view, but for a captured graph a copy.

    There a convolution would ask whether the view is channels_last, and with that fix H and W to more than 1.
    """
    maps = x.transpose(1, 2).unflatten(2, grid)
    return maps.clone(memory_format=torch.contiguous_format) if torch.compiler.is_compiling() else maps


@MODELS.register_module()
class WeightFormer(IsotropicBackbone):
    """WeightFormer: image (B, 3, H, W) -> maps at stride ``patch_size``, or a pyramid of four; any H and W.

    As published every third block is dynamic: 1, 4, 7, 10, 13, 16 of 17. With all of them dynamic the paper's training
    diverges; ``layer_scale``, gradient clipping (the configs have it) and :class:`csan_mm.engine.DynamicNormHook` are guards.

    Args:
        arch: 'tiny', 'small', 'base' (small's dims, trained at 448), or a dict with ``embed_dims`` and ``depth``.
            Default: 'tiny'.
        dynamic: Which blocks are dynamic: a period p (blocks 1, 1 + p, ...), a list of blocks, or a fraction of the depth
            from 0.0 to 1.0 (evenly spread, the last block among them). Default: 3.
        linear_strategy: How a linear layer's matrix is predicted, see :class:`DynamicLinear`; 'static': it is not, and the
            convolution alone is dynamic. Default: 'bilateral'.
        conv_strategy: How a convolution's kernels are predicted, see :class:`DynamicDepthwiseConv`; 'static': they are not.
            Default: 'adaptive'.
        dynamic_linears: Which linear layer of a dynamic block is dynamic: 'first', 'second' or 'both'. Default: 'first'.
        rate: By which the hidden widths of 'bilateral' and 'deep' predictors are smaller. Default: 4.
        pooling: Side of the windows of tokens over whose means a linear layer's matrix is predicted: 1, 2, 4, 8, ... Default: 2.
        layer_scale: Start of learned gains on what is predicted, such as 0.1, for more stable training; ``None``
            (default): none, as published.
        patch_size: Default: 16.
        in_channels: Default: 3.
        mlp_ratio: Default: 4.
        drop_path_rate: Stochastic depth of the last block; it grows linearly from 0. Default: 0.
        frozen_stages: Besides what :class:`DenseBackbone` takes, 'static': all static weights are frozen and only the
            predictors are tuned (``wfm``, ``w1``, ``w2``, ``amp``, ``gain``), which the paper names as future
            work; output norms and the pyramid, which an ImageNet file does not have, learn too. Default: -1.
        **shared: See :class:`IsotropicBackbone` (``out_type``, ``final_norm``, ``out_indices``; there is no class token) and
            :class:`DenseBackbone` (``norm_eval``, ``with_cp``, ``norm_cfg``, ``init_cfg``).

    Raises:
        ValueError: An argument no network can be built from; the message says what would do.

    Example:
        >>> model = WeightFormer('tiny', out_type='pyramid', out_indices=(4, 8, 12, 16))
        >>> [tuple(level.shape[2:]) for level in model(torch.zeros(1, 3, 200, 336))]
        [(50, 84), (25, 42), (13, 21), (7, 11)]
    """

    archs = ARCHS

    def __init__(
        self,
        arch: str | dict[str, Any] = "tiny",
        dynamic: int | float | Sequence[int] = 3,
        linear_strategy: str = "bilateral",
        conv_strategy: str = "adaptive",
        dynamic_linears: str = "first",
        rate: int = 4,
        pooling: int = 2,
        layer_scale: float | None = None,
        patch_size: int = 16,
        in_channels: int = 3,
        mlp_ratio: float = 4.0,
        drop_path_rate: float = 0.0,
        frozen_stages: int | str = -1,
        **shared: Any,
    ) -> None:
        if isinstance(frozen_stages, str) and frozen_stages != "static":
            raise ArgumentError(f"frozen_stages={frozen_stages!r} is unknown: take a number of stages, or 'static'")
        check_arguments({name: value for name, value in locals().items() if value != "static"})
        check_choice("linear_strategy", linear_strategy, (STATIC, *LINEAR_STRATEGIES))
        check_choice("conv_strategy", conv_strategy, (STATIC, *CONV_STRATEGIES))
        check_choice("dynamic_linears", dynamic_linears, tuple(LINEARS))
        dims = resolve_arch(arch, ARCHS)
        width, depth = dims["embed_dims"], dims["depth"]
        self.tunes_predictors = frozen_stages == "static"
        super().__init__(
            width, depth, patch_size, 0, frozen_stages=-1 if self.tunes_predictors else frozen_stages, **shared
        )
        self.dynamic_blocks = dynamic_blocks(dynamic, depth)
        if self.dynamic_blocks and linear_strategy == conv_strategy == STATIC:
            raise ArgumentError(
                "linear_strategy='static' with conv_strategy='static' leaves nothing dynamic: dynamic=0.0 makes a plain network"
            )
        linear = {"strategy": linear_strategy, "rate": rate, "pooling": pooling, "layer_scale": layer_scale}
        conv = {"strategy": conv_strategy, "layer_scale": layer_scale}
        options = {
            "linear": None if linear_strategy == STATIC else linear,
            "conv": None if conv_strategy == STATIC else conv,
            "linears": LINEARS[dynamic_linears],
        }
        rates = drop_path_rates(drop_path_rate, self.depths)
        self.patch_embed = PatchEmbed(in_channels, width, patch_size)
        self.init_norm = nn.LayerNorm(width, eps=NORM_EPS)
        self.blocks = nn.ModuleList(
            WeightFormerBlock(width, rates[i][0], mlp_ratio, options if i in self.dynamic_blocks else None)
            for i in range(self.num_built)
        )
        self.norm = nn.LayerNorm(width, eps=NORM_EPS) if self.final_norm else None

    def finish(self) -> None:
        """As in all backbones; then under ``frozen_stages='static'`` freeze the static weights."""
        super().finish()
        if self.tunes_predictors:
            for name, parameter in self.named_parameters():
                parameter.requires_grad_(LEARNS.search(name) is not None)

    def embed(self, image: Tensor) -> tuple[Tensor, tuple[int, int]]:
        """Normed patches: (B, 3, H, W) -> (B, N, C) and the grid."""
        x = self.init_norm(self.patch_embed(image))  # (B, H, W, C)
        return x.flatten(1, 2), (x.shape[1], x.shape[2])

    def stem(self) -> list[nn.Module | nn.Parameter]:
        """Patch embedding and its norm."""
        return [self.patch_embed, self.init_norm]

    def no_weight_decay(self) -> set[str]:
        """The dynamic layers' biases and gains; their w, w1 and w2 do decay."""
        return {name for name, _ in self.named_parameters() if name.endswith((".b", ".gain"))}


def dynamic_blocks(dynamic: int | float | Sequence[int], depth: int) -> tuple[int, ...]:
    """Indices of the dynamic blocks.

    Args:
        dynamic: Period (int), share of the blocks (float), or the indices themselves.
        depth: Number of blocks.

    Raises:
        ValueError: A period below 1, a share outside [0, 1], indices out of range or repeated.

    Example:
        >>> dynamic_blocks(3, 17) == dynamic_blocks(6 / 17, 17) == (1, 4, 7, 10, 13, 16)
        True
    """
    wrong = ArgumentError(
        f"dynamic={dynamic!r} names no blocks: take a period (an int from 1), a fraction of the depth (a float from 0.0 to 1.0), "
        f"or a list of different blocks from 0 to {depth - 1}"
    )
    if isinstance(dynamic, bool):
        raise wrong
    if isinstance(dynamic, int):
        if dynamic < 1:
            raise wrong
        return tuple(i for i in range(depth) if i % dynamic == 1 % dynamic)
    if isinstance(dynamic, float):
        if not 0 <= dynamic <= 1:
            raise wrong
        count = round(dynamic * depth)
        return tuple((i + 1) * depth // count - 1 for i in range(count))
    if not isinstance(dynamic, Sequence) or not all(is_int(i) and 0 <= i < depth for i in dynamic):
        raise wrong
    blocks = tuple(sorted(dynamic))
    if len(set(blocks)) < len(blocks):
        raise wrong
    return blocks
