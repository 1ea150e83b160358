"""Four maps of one stride -> maps at 1/4, 1/2, 1 and 2 times that stride (BEiT, arXiv 2106.08254, for UPerNet).

mmseg's Feature2Pyramid does this as a neck. It rounds down where it halves (a map of one cell is an error), and it does not know
the image's size: at a stride of 16 its finest map has 4 ceil(H/16) rows for an image that covers ceil(H/4) of them, and what a
segmentor makes of it is stretched over the image. So this is a part of the backbone, which crops each map to exactly
ceil(H / stride) x ceil(W / stride).
"""

import torch
from timm.layers import LayerNorm2d
from torch import Tensor, nn

from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.memory_format import format_of
from csan_mm.layers.padding import cells

#: Stride of each level over that of the maps.
SCALES = (0.25, 0.5, 1, 2)


class PyramidFromDepths(nn.ModuleList):
    """One rescaling per level, the width C stays: deconvolution, norm, GELU, deconvolution; deconvolution; none; maximum 2x2.

    Args:
        embed_dims: C.
        stride: That of the maps, a multiple of 4.

    Attributes:
        strides (tuple[int]): Stride of every level.

    Raises:
        ValueError: A stride that cannot be quartered.
    """

    def __init__(self, embed_dims: int, stride: int) -> None:
        check_arguments(locals())
        if stride % 4:
            raise ArgumentError(
                f"patch_size={stride}, the stride of a pyramid's maps, cannot be quartered: take a multiple of 4"
            )
        super().__init__(
            [
                nn.Sequential(_double(embed_dims), LayerNorm2d(embed_dims), nn.GELU(), _double(embed_dims)),
                _double(embed_dims),
                nn.Identity(),
                nn.MaxPool2d(2, 2, ceil_mode=True),
            ]
        )
        self.strides = tuple(int(stride * scale) for scale in SCALES)

    def forward(self, x: Tensor, index: int, image: Tensor) -> Tensor:
        """Level ``index`` from a map (B, C, h, w), cropped to the image (B, 3, H, W), in the map's memory format."""
        memory_format = format_of(x)
        rows, columns = (cells(side, self.strides[index]) for side in image.shape[-2:])
        x = self[index](x)[:, :, :rows, :columns]
        # contiguous() asks whether something was cropped, which a captured graph must not.
        return (
            x.clone(memory_format=memory_format)
            if torch.compiler.is_compiling()
            else x.contiguous(memory_format=memory_format)
        )


def _double(width: int) -> nn.ConvTranspose2d:
    return nn.ConvTranspose2d(width, width, 2, stride=2)
