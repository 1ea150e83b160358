"""2-D rotary position embedding (RoFormer, arXiv 2104.09864; on two axes as in MALA's released code, arXiv 2507.00698).

The first half of a head's d channels turns with the row of a token, the second half with its column. Neighbouring channels
(2m, 2m + 1) are a pair; pair m of a half turns by 10000^(-t_m) per row or column, t = linspace(0, 1, d/4):

    (x0, x1) -> (x0 cos a - x1 sin a, x1 cos a + x0 sin a),   a = place * 10000^(-t_m)
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError

BASE = 10000.0

#: cos and sin of every token's angles, (N, d/2) each.
Rotation = tuple[Tensor, Tensor]


def angles(head_dims: int, device: torch.device | None = None, dtype: torch.dtype = torch.float32) -> Tensor:
    """Angle per row or column of each pair of a half, 10000^(-t_m): (d/4,)."""
    pairs = head_dims // 4
    return BASE ** -(torch.arange(pairs, device=device, dtype=dtype) / max(1, pairs - 1))


class Rotary2D(nn.Module):
    """Makes the rotation of a grid of tokens: (H, W) -> cos and sin, (H * W, d/2) each.

    Nothing of it is kept in the module: what is made on the meta device has no values after ``to_empty``. Angles have at
    least float32 when the network is turned to a half type: 300 rows at a relative error of 2^-9 would be half a radian.

    Args:
        head_dims: d, a multiple of 4.
        persistent: Whether the state dict has a buffer ``angle``, as MAViT's checkpoints have: the angle of each channel of a
            half, so every one twice, (d/2,). It is for those who read the file; :meth:`forward` does not. Default: False.

    Raises:
        ValueError: d is not a multiple of 4.
    """

    angle: Tensor | None

    def __init__(self, head_dims: int, persistent: bool = False) -> None:
        check_arguments(locals())
        super().__init__()
        if head_dims % 4:
            raise ArgumentError(
                f"head_dims={head_dims} cannot be rotated: pairs of channels turn with the row and with the column, so the "
                f"width of a head must be a multiple of 4"
            )
        self.head_dims = head_dims
        self.register_buffer("angle", angles(head_dims).repeat_interleave(2) if persistent else None)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Rotary2D":
        """What moves or converts the buffer, or gives it memory without values, leaves the angles in it."""
        super()._apply(fn, recurse)
        if self.angle is not None:
            self.angle = angles(self.head_dims, self.angle.device).repeat_interleave(2)
        return self

    def forward(self, grid: tuple[int, int], like: Tensor, extra: int = 0) -> Rotation:
        """Rotation of the tokens of a grid, row by row.

        Args:
            grid: (H, W).
            like: Gives the device, and the type if that is wider than float32.
            extra: Tokens in front that belong to no place (class, registers); they do not turn. Default: 0.
        """
        H, W = grid
        angle = angles(self.head_dims, like.device, torch.promote_types(like.dtype, torch.float32))  # (d/4,)
        rows = torch.arange(H, device=angle.device)[:, None] * angle  # (H, d/4)
        columns = torch.arange(W, device=angle.device)[:, None] * angle  # (W, d/4)
        rows, columns = rows[:, None].expand(-1, W, -1), columns.expand(H, -1, -1)
        turned = torch.cat((rows, columns), dim=-1).flatten(0, 1)  # (H * W, d/2)
        if extra:
            turned = torch.cat((turned.new_zeros(extra, turned.shape[-1]), turned))
        return turned.cos(), turned.sin()


def rotate(x: Tensor, rotation: Rotation) -> Tensor:
    """Turn the pairs of neighbouring channels of x (..., N, d); type of x, computed in that of the rotation at least."""
    cos, sin = rotation
    x0, x1 = x.unflatten(-1, (-1, 2)).unbind(-1)  # (..., N, d/2) each
    return torch.stack((x0 * cos - x1 * sin, x1 * cos + x0 * sin), dim=-1).flatten(-2).to(x.dtype)
