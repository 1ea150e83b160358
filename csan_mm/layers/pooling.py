"""Adaptive average pooling as two matrix products: any size in, a fixed number of cells out."""

import torch
from torch import Tensor


def adaptive_pool(x: Tensor, size: tuple[int, int]) -> Tensor:
    """Average a map (B, H, W, C) over ``size`` = (h, w) cells: (B, h, w, C), the numbers of ``adaptive_avg_pool2d``.

    Cell (i, j) covers the rows from floor(i H / h) to ceil((i + 1) H / h) and the columns likewise; cells overlap where H is no
    multiple of h, and repeat where H < h. As products with the two averaging matrices it exports with a free H and W, and its
    gradient on a GPU is deterministic; torch's own kernel has neither.
    """
    _, H, W, C = x.shape
    x = averaging_matrix(H, size[0], x) @ x.flatten(2)  # (B, h, W * C)
    return averaging_matrix(W, size[1], x) @ x.unflatten(2, (W, C))


def averaging_matrix(length: int, bins: int, like: Tensor) -> Tensor:
    """(bins, length): row i has 1 / n_i on the n_i places that bin i covers; of like's type and device."""
    bin_number = torch.arange(bins, device=like.device)[:, None]
    start, stop = bin_number * length // bins, ((bin_number + 1) * length + bins - 1) // bins  # floor, ceil
    place = torch.arange(length, device=like.device)
    inside = (place >= start) & (place < stop)
    return inside.to(like.dtype) / (stop - start)
