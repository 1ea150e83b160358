"""Representatives of tokens (CBSA, arXiv 2509.16875): pooled on a coarse grid, or the tokens' principal directions."""

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

from csan_mm.common.checks import is_int
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.pooling import adaptive_pool

REP_GRID = (8, 8)


def resolve_rep_grid(rep_grid: int | tuple[int, int] | None, window_size: int | None = None) -> tuple[int, int]:
    """Rows and columns of representatives.

    Args:
        rep_grid: One number for both, or (rows, columns). ``None``: 8 x 8, in smaller windows one per token.
        window_size: Side of the windows the tokens come from; ``None``: they are whole maps of any size.

    Raises:
        ValueError: No numbers from 1 up, or more cells than a window has tokens along a side.
    """
    if rep_grid is None:
        return REP_GRID if window_size is None else tuple(min(side, window_size) for side in REP_GRID)
    sides = (rep_grid, rep_grid) if is_int(rep_grid) else rep_grid
    given = isinstance(sides, Sequence) and not isinstance(sides, str) and len(sides) == 2
    if not given or not all(is_int(side) and side > 0 for side in sides):
        raise ArgumentError(f"rep_grid={rep_grid!r}: take one number of cells, or (rows, columns), from 1 up")
    sides = tuple(sides)
    if window_size is not None and max(sides) > window_size:
        raise ArgumentError(
            f"rep_grid={rep_grid!r} has more cells than windows of window_size={window_size} have tokens: take at most "
            f"{window_size} on a side, or window_size=None (whole maps)"
        )
    return sides


def pool_tokens(x: Tensor, grid: tuple[int, int], first: int, rep_grid: tuple[int, int]) -> Tensor:
    """Average tokens over the cells of a coarse grid: (B, H, N, p) -> (B, H, m, p).

    A map smaller than ``rep_grid`` gives some means twice, as the published pooling does; a warning says so once.

    Args:
        x: Tokens by head, those of the grid row by row.
        grid: (H, W) of the tokens.
        first: Where in the sequence the H * W tokens start that are pooled.
        rep_grid: Rows and columns of representatives, m in all.
    """
    # A captured graph has sizes without numbers, which a branch would freeze.
    if not torch.compiler.is_compiling() and (grid[0] < rep_grid[0] or grid[1] < rep_grid[1]):
        warnings.warn(
            f"{rep_grid[0]} x {rep_grid[1]} representatives are pooled from {grid[0]} x {grid[1]} tokens: some are "
            f"the same; a smaller rep_grid avoids that",
            stacklevel=2,
        )
    B, H = x.shape[:2]
    tokens = x[:, :, first : first + grid[0] * grid[1]].flatten(0, 1).unflatten(1, grid)  # (B * H, rows, columns, p)
    return adaptive_pool(tokens, rep_grid).flatten(1, 2).unflatten(0, (B, H))


def principal_directions(x: Tensor) -> Tensor:
    """Orthonormal axes along which tokens (B, H, N, p) spread most, widest first: (B, H, p, p), one direction in each row.

    They are the right singular vectors of the N tokens, which are not centred: a head is a subspace through the origin. Each
    points to where the tokens' mean lies. The paper names principal directions; their length 1, their sign and that gradients
    do not run through them are ours (where two singular values meet, that gradient has no bound).
    """
    # No half precision: there is no decomposition in it.
    tokens = x.detach().to(torch.promote_types(x.dtype, torch.float32))
    with torch.autocast(x.device.type, enabled=False):
        gram = tokens.transpose(-2, -1) @ tokens  # (B, H, p, p)
        axes = torch.linalg.eigh(gram).eigenvectors.mT.flip(-2)  # eigh's columns rise in their eigenvalue
        along = axes @ tokens.mean(dim=-2).unsqueeze(-1)  # (B, H, p, 1)
        return torch.where(along < 0, -axes, axes).to(x.dtype)
