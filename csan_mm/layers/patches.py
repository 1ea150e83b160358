"""From pixels to a grid of patch tokens, and from one grid to the next coarser one, at any size."""

import torch
from torch import Tensor, nn

from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_number
from csan_mm.layers.conv import Conv2d
from csan_mm.layers.padding import pad_to_multiple


class PatchEmbed(nn.Module):
    """One convolution of kernel and stride p, then an optional LayerNorm: (B, 3, H, W) -> (B, ceil(H/p), ceil(W/p), C).

    Args:
        in_channels: Channels of the image.
        embed_dims: C.
        patch_size: p.
        norm_eps: Epsilon of the LayerNorm; ``None`` (default): no norm.


    Raises:
        ValueError: A number of channels or a patch below 1, an epsilon not above 0.
    """

    def __init__(self, in_channels: int, embed_dims: int, patch_size: int, norm_eps: float | None = None) -> None:
        check_arguments(locals())
        super().__init__()
        self.patch_size = patch_size
        self.proj = Conv2d(in_channels, embed_dims, patch_size, stride=patch_size)
        self.norm = nn.Identity() if norm_eps is None else nn.LayerNorm(embed_dims, eps=norm_eps)

    def forward(self, x: Tensor) -> Tensor:
        """Embed an image; zeros fill its last, incomplete patches."""
        x = pad_to_multiple(x, self.patch_size, axes=(2, 3))
        return self.norm(self.proj(x).permute(0, 2, 3, 1))


class PatchMerging(nn.Module):
    """Swin's down-sampling: concatenate 2x2 cells, LayerNorm, Linear 4C -> 2C; (B, H, W, C) -> (B, ceil(H/2), ceil(W/2), 2C).

    The cells are concatenated in the original Swin's order: top-left, bottom-left, top-right, bottom-right.
    """

    def __init__(self, embed_dims: int, norm_eps: float = 1e-5) -> None:
        check_arguments(locals())
        check_number("norm_eps", norm_eps, above=0)
        super().__init__()
        self.norm = nn.LayerNorm(4 * embed_dims, eps=norm_eps)
        self.reduction = nn.Linear(4 * embed_dims, 2 * embed_dims, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Merge a map; an odd last row or column is completed with zeros."""
        x = pad_to_multiple(x, 2)
        cells = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.reduction(self.norm(torch.cat(cells, dim=-1)))
