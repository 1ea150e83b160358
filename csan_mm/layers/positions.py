"""Learned absolute position embeddings on a grid other than the one they were learned on."""

from collections.abc import Sequence

import torch
from timm.layers import resample_abs_pos_embed
from torch import Tensor

from csan_mm.common.errors import ArgumentError


def resized_positions(table: Tensor, source: tuple[int, int], grid: tuple[int, int], num_prefix: int) -> Tensor:
    """A position table (1, prefix + N, C) learned on one grid, for another; the rows of prefix tokens stay, its own grid all."""
    if tuple(source) == tuple(grid):  # older timm passes these through float32 where they are not square
        return table
    return resample_abs_pos_embed(table, new_size=list(grid), old_size=list(source), num_prefix_tokens=num_prefix)


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
