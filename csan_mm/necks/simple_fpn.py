"""ViTDet's simple feature pyramid (Li et al., "Exploring Plain Vision Transformer Backbones for Object Detection", ECCV 2022)."""

from collections.abc import Sequence
from typing import Any

from mmcv.cnn import ConvModule, build_norm_layer
from mmengine.model import BaseModule
from torch import Tensor, nn
from torch.nn.functional import max_pool2d

import csan_mm.layers.norms  # noqa: F401 (registers LN2d, the default norm)
from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.common.norms import build_norm
from csan_mm.layers.memory_format import format_of
from csan_mm.registry import MODELS

RESCALES = (4, 2, 1, 0.5)


@MODELS.register_module()
class SimpleFPN(BaseModule):
    """All levels of a pyramid from the one map of a plain backbone (section 3, "Simple feature pyramid"; Table 2).

    A level is the map resampled, then a 1x1 and a 3x3 convolution, each followed by the norm and no activation:

        4    deconvolution 2x2, norm, GELU, deconvolution 2x2: width C -> C/2 -> C/4
        2    deconvolution 2x2: C -> C/2
        1    the map itself
        1/2  maximum over 2x2 cells

    and each further one is every second cell of the last. With a stride of 16 that makes strides 4, 8, 16, 32, 64. From h
    rows the levels get 4h, 2h, h, ceil(h/2), ceil(h/4): each has half the rows of the one before it, rounded up, at any h.
    The maps cover the image as the backbone padded it.

    Args:
        in_channels: C, width of the map.
        out_channels: Width of all levels. Default: 256.
        num_outs: Number of levels. Default: 5.
        rescales: Sizes of the first levels over that of the map, out of 4, 2, 1, 0.5 and falling. Default: all four.
        norm_cfg: Norm of all convolutions; ``None``: none, and the convolutions have a bias. Default: LayerNorm over channels.
        init_cfg: See mmengine's BaseModule. Default: Xavier, as mmdet's FPN has it.

    Raises:
        ValueError: Other ``rescales``, a ``num_outs`` below their number, a width that cannot be halved; on calling, more
            than one map.

    Example:
        >>> neck = SimpleFPN(192)
        >>> [tuple(level.shape[2:]) for level in neck((torch.zeros(1, 192, 13, 21),))]
        [(52, 84), (26, 42), (13, 21), (7, 11), (4, 6)]
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int = 256,
        num_outs: int = 5,
        rescales: Sequence[float] = RESCALES,
        norm_cfg: dict[str, Any] | None = {"type": "csan_mm.LN2d", "eps": 1e-6},  # noqa: B006 (plain data for configs)
        init_cfg: dict[str, Any] | list[dict[str, Any]] | None = {  # noqa: B006
            "type": "Xavier",
            "layer": "Conv2d",
            "distribution": "uniform",
        },
    ) -> None:
        check_arguments(locals())
        super().__init__(init_cfg=init_cfg)
        self._check(in_channels, num_outs, rescales)
        if norm_cfg is not None:
            build_norm("norm_cfg", norm_cfg, out_channels)  # named here, not by the convolutions it is for
        self.num_outs = num_outs
        self.levels = nn.ModuleList(
            nn.Sequential(
                *resampling(in_channels, rescale, norm_cfg),
                ConvModule(level_width(in_channels, rescale), out_channels, 1, norm_cfg=norm_cfg, act_cfg=None),
                ConvModule(out_channels, out_channels, 3, padding=1, norm_cfg=norm_cfg, act_cfg=None),
            )
            for rescale in rescales
        )

    @staticmethod
    def _check(in_channels: int, num_outs: int, rescales: Sequence[float]) -> None:
        given = isinstance(rescales, Sequence) and not isinstance(rescales, str)
        falling = given and list(rescales) == sorted(set(rescales), reverse=True)
        if not falling or not rescales or not set(rescales) <= set(RESCALES):
            raise ArgumentError(
                f"rescales={rescales!r}: take some of {', '.join(map(str, RESCALES))}, the largest first"
            )
        if num_outs < len(rescales):
            raise ArgumentError(f"num_outs={num_outs} is less than the {len(rescales)} levels of rescales={rescales!r}")
        if in_channels % max(1, int(max(rescales))):
            raise ArgumentError(
                f"in_channels={in_channels} cannot be halved for each doubling of the size: take a multiple of {max(rescales)}"
            )

    def forward(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """One map (B, C, h, w) in a tuple -> ``num_outs`` maps, contiguous, in channels_last where the input is."""
        if len(inputs) != 1:
            raise ArgumentError(f"SimpleFPN takes one map and got {len(inputs)}: give the backbone one out_indices")
        (x,) = inputs
        outputs = [level(x) for level in self.levels]
        while len(outputs) < self.num_outs:
            outputs.append(max_pool2d(outputs[-1], kernel_size=1, stride=2))
        return tuple(output.contiguous(memory_format=format_of(x)) for output in outputs)


def level_width(width: int, rescale: float) -> int:
    """Channels behind the resampling: enlarging by r divides them by r."""
    return width // max(1, int(rescale))


def resampling(width: int, rescale: float, norm_cfg: dict[str, Any] | None) -> list[nn.Module]:
    """What brings the map to ``rescale`` times its size."""
    if rescale == 1:
        return []
    if rescale < 1:
        return [nn.MaxPool2d(2, 2, ceil_mode=True)]
    first = nn.ConvTranspose2d(width, width // 2, 2, stride=2)
    if rescale == 2:
        return [first]
    norm = [] if norm_cfg is None else [build_norm_layer(norm_cfg, width // 2)[1]]
    return [first, *norm, nn.GELU(), nn.ConvTranspose2d(width // 2, width // 4, 2, stride=2)]
