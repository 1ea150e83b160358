"""Learned absolute position embeddings on a grid other than the one they were learned on."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from csan_mm.common.errors import ArgumentError
from csan_mm.layers.dynamic import at_least_float32
from csan_mm.ops.autocast import autocast_off


def resized_positions(table: Tensor, source: tuple[int, int], grid: tuple[int, int], num_prefix: int) -> Tensor:
    """A position table (1, prefix + N, C) learned on one grid, for another; the rows of prefix tokens stay, its own grid all."""
    if tuple(source) == tuple(grid):
        return table
    prefix, patches = table[:, :num_prefix], table[:, num_prefix:].unflatten(1, source)
    return torch.cat([prefix, resized_bicubic(patches, grid).flatten(1, 2)], dim=1)


def resized_bicubic(maps: Tensor, size: tuple[int, int]) -> Tensor:
    """Maps (B, H, W, C) at another size, bicubic and antialiased, as timm and torch resize positions.

    Written as two products with the weights of the interpolation, one for each side: torch's own kernel has no deterministic
    gradient on a GPU and none in half precision on a CPU, products have both. A half type is resized in float32.
    """
    wide = at_least_float32(maps)
    rows, columns = (_weights(wide, before, after) for before, after in zip(maps.shape[1:3], size))
    with autocast_off(maps.device):
        return weighted_sums(columns, weighted_sums(rows, wide, 1), 2).to(maps.dtype)


def weighted_sums(weights: Tensor, maps: Tensor, axis: int) -> Tensor:
    """Weighted sums over one axis of maps; weights (new, old)."""
    return torch.matmul(weights, maps.movedim(axis, -2)).movedim(-2, axis)


@torch.no_grad()
def _weights(like: Tensor, before: int, after: int) -> Tensor:
    """Share of each old cell of a side in each new one, (after, before): what the interpolation makes of the unit vectors."""
    units = torch.eye(before, dtype=like.dtype, device=like.device)[None, None]
    return interpolate(units, size=(after, before), mode="bicubic", antialias=True)[0, 0]


def refit_positions(
    table: Tensor, target: Tensor, grid: tuple[int, int], prefixes: Sequence[int], num_prefix: int
) -> Tensor:
    """Fit a file's position table to a backbone's.

    Args:
        table: (1, n, C) of the file.
        target: (1, N, C) of the backbone.
        grid: The backbone's grid.
        prefixes: How many prefix rows the file may have; the first number that leaves a square grid counts.
        num_prefix: How many the backbone has; missing ones keep the backbone's own rows.

    Raises:
        ValueError: The file's grid is not square, so that its sides cannot be told.
    """
    rows = table.shape[1]
    if rows == target.shape[1] and num_prefix in prefixes:
        return table
    sides = {prefix: round((rows - prefix) ** 0.5) for prefix in prefixes if rows > prefix}
    fits = [prefix for prefix, side in sides.items() if side**2 + prefix == rows]
    if not fits:
        raise ArgumentError(
            f"pos_embed has {rows} rows, which is not a square grid: give the backbone the img_size it was trained at"
        )
    prefix, side = fits[0], sides[fits[0]]
    patches = resized_positions(table[:, prefix:], (side, side), grid, 0)
    head = (table if prefix >= num_prefix else target)[:, :num_prefix]
    return torch.cat([head, patches.to(head.dtype)], dim=1)
