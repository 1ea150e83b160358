"""Depthwise convolution: every channel by itself."""

import torch
from torch import Tensor

from csan_mm.common.arguments import check_arguments
from csan_mm.layers.conv import Conv2d


class DepthwiseConv2d(Conv2d):
    """A k x k convolution of each channel that keeps the map's size, (B, C, H, W) -> (B, C, H, W).

    Parameters and start are those of ``nn.Conv2d(C, C, k, padding=k // 2, groups=C)``.

    Args:
        embed_dims: C.
        kernel_size: k, odd.

    Raises:
        ValueError: A width below 1, an even kernel.
    """

    def __init__(self, embed_dims: int, kernel_size: int) -> None:
        check_arguments(locals())
        super().__init__(embed_dims, embed_dims, kernel_size, padding=kernel_size // 2, groups=embed_dims)


def convolve_tokens(conv: DepthwiseConv2d, x: Tensor, grid: tuple[int, int], num_prefix: int) -> Tensor:
    """The convolution of tokens (B, N, C) on their grid; tokens in front of the grid's (class, registers) get 0.

    Args:
        conv: Of C channels.
        x: ``num_prefix`` tokens, then those of the grid row by row.
        grid: (H, W).
        num_prefix: Number of tokens in front, N - H W.
    """
    maps = x[:, num_prefix:].unflatten(1, grid).permute(0, 3, 1, 2)
    y = conv(maps).permute(0, 2, 3, 1).flatten(1, 2).to(x.dtype)
    return torch.cat([torch.zeros_like(x[:, :num_prefix]), y], dim=1) if num_prefix else y
