"""TSSA, ToST's attention (Wu et al., "Token Statistics Transformer", ICLR 2025, arXiv 2412.17810).

With w = Linear_proj(x) (B, H, N, p), heads of width p, and one learned temperature t per head:

    Pi_hn  = softmax_h(t_h sum_p w_hnp^2 / |w_h:p|^2)     membership of token n in subspace h     (B, H, N)
    dots_hp = sum_n Pi_hn w_hnp^2 / (sum_n Pi_hn + 1e-8)  second moment along axis p              (B, H, p)
    out    = Linear_out(-(Pi w) / (1 + dots))

|w_h:p| is the norm of axis p over all tokens. No scores between tokens are formed: linear in N.
"""

import torch
from torch import Tensor, nn

from csan_mm.mixers.base import merge_heads
from csan_mm.mixers.subspace import SubspaceMixer
from csan_mm.registry import MIXERS

EPS = 1e-8
#: Square of the smallest norm that is divided by, as in torch.nn.functional.normalize.
MIN_SQUARED_NORM = 1e-24


@MIXERS.register_module(name="tssa")
class TSSA(SubspaceMixer):
    """Attention by token statistics, (B, N, C) -> (B, N, C); the formulas stand at the top of this file.

    Squares and their sums are float32 under autocast too.

    Args:
        embed_dims: C.
        num_heads: H.
        window_size: Accepted from windowed backbones; there is no bias to size. Default: None.
        qkv_bias: Must be False, see :class:`SubspaceMixer`, like the next. Default: False.
        inner_dims: Default: ``embed_dims``.

    Raises:
        ValueError: See :class:`SubspaceMixer`; on calling, a mask.
    """

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        window_size: int | None = None,
        qkv_bias: bool = False,
        inner_dims: int | None = None,
    ) -> None:
        super().__init__(embed_dims, num_heads, window_size, qkv_bias, inner_dims)
        self.temp = nn.Parameter(torch.ones(num_heads, 1))

    def forward(self, x: Tensor, grid: tuple[int, int] | None = None, mask: Tensor | None = None) -> Tensor:
        """Mix tokens x (B, N, C); the grid is not needed, and a mask cannot be obeyed."""
        self.refuse_mask(mask)
        w = self.split_heads(self.proj(x))  # (B, H, N, p)
        membership, moments = self.statistics(w)
        return self.to_out(merge_heads(-(w * membership) / (1 + moments)).to(w.dtype))

    def statistics(self, w: Tensor) -> tuple[Tensor, Tensor]:
        """Pi (B, H, N, 1) and dots (B, H, 1, p)."""
        squares = w.to(torch.promote_types(w.dtype, torch.float32)).square()
        norms = squares.sum(dim=-2, keepdim=True).clamp_min(MIN_SQUARED_NORM)  # (B, H, 1, p)
        membership = (self.temp * (squares / norms).sum(dim=-1)).softmax(dim=1).unsqueeze(-1)
        moments = (membership * squares).sum(dim=-2, keepdim=True) / (membership.sum(dim=-2, keepdim=True) + EPS)
        return membership, moments
