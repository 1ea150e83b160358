"""Zeros at the bottom and right of maps, so that their sides are multiples of a patch, a window, a mask unit."""

import torch
from torch import Tensor
from torch.nn.functional import pad


def cells(side: int, stride: int) -> int:
    """ceil(side / stride), without the negative numbers whose division ONNX rounds the other way."""
    return (side + stride - 1) // stride


def whole(side: int, multiple: int) -> int:
    """The next multiple of ``multiple`` from ``side`` on; by floor division, which traced sizes simplify well."""
    return cells(side, multiple) * multiple


def pad_to_multiple(x: Tensor, multiple: int, axes: tuple[int, int] = (1, 2)) -> Tensor:
    """Zeros at the bottom and right of maps until both sides are multiples; a whole map comes back as it is.

    Args:
        x: Maps of four axes.
        multiple: What the sides shall be multiples of.
        axes: Where height and width stand: (1, 2) (default) in (B, H, W, C), (2, 3) in (B, C, H, W).
    """
    bottom, right = (whole(x.shape[axis], multiple) - x.shape[axis] for axis in axes)
    # In a captured graph the padding is always there: a branch would fix whether the traced size needed it.
    if not (torch.compiler.is_compiling() or bottom or right):
        return x
    return pad(x, (0, 0, 0, right, 0, bottom) if axes == (1, 2) else (0, right, 0, bottom))
