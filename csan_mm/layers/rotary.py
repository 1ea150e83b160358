"""2-D rotary position embedding (RoFormer, arXiv 2104.09864; on two axes as in MALA's released code, arXiv 2507.00698).

The first half of a head's d channels turns with the row of a token, the second half with its column. Neighbouring channels
(2m, 2m + 1) are a pair; pair m of a half turns by 10000^(-t_m) per row or column, t = linspace(0, 1, d/4):

    (x0, x1) -> (x0 cos a - x1 sin a, x1 cos a + x0 sin a),   a = place * 10000^(-t_m)
"""

import torch
from torch import Tensor, nn

from csan_mm.common.errors import ArgumentError

BASE = 10000.0

#: cos and sin of every token's angles, (N, d/2) each.
Rotation = tuple[Tensor, Tensor]


class Rotary2D(nn.Module):
    """Makes the rotation of a grid of tokens: (H, W) -> cos and sin, (H * W, d/2) each.

    The angles stay in float32 when the network is turned to a half type: 300 rows at a relative error of 2^-9 would be half
    a radian.

    Args:
        head_dims: d, a multiple of 4.
        persistent: Whether the angles stand in the state dict (MAViT's checkpoints have them). Default: False.

    Attributes:
        angle (Tensor): Angle per row or column of each channel of a half, so every one twice: (d/2,).

    Raises:
        ValueError: d is no multiple of 4.
    """

    def __init__(self, head_dims: int, persistent: bool = False) -> None:
        super().__init__()
        if head_dims < 4 or head_dims % 4:
            raise ArgumentError(
                f"head_dims={head_dims} cannot be rotated: pairs of channels turn with the row and with the column, so the "
                f"width of a head must be a multiple of 4"
            )
        angle = BASE ** -torch.linspace(0, 1, head_dims // 4)
        self.register_buffer("angle", angle.repeat_interleave(2), persistent=persistent)

    def _apply(self, fn, recurse: bool = True) -> "Rotary2D":
        before = self.angle
        super()._apply(fn, recurse)
        if self.angle.dtype in (torch.float16, torch.bfloat16):
            self.angle = before.to(self.angle.device)
        return self

    def forward(self, grid: tuple[int, int], extra: int = 0) -> Rotation:
        """Rotation of the tokens of a grid, row by row.

        Args:
            grid: (H, W).
            extra: Tokens in front that belong to no place (class, registers); they do not turn. Default: 0.
        """
        H, W = grid
        angle = self.angle[::2]  # (d/4,)
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
