"""CBSA: contract-and-broadcast self-attention ("Towards Interpretable and Efficient Attention", NeurIPS 2025, arXiv 2509.16875).

One projection plays query, key and value. B images, H heads of width p, N tokens, m representatives, r = p^-0.5:

    w      = Linear_proj(x), no bias                                                  (B, H, N, p)
    rep    = w averaged over the cells of a coarse grid                               (B, H, m, p)
    A      = softmax over the tokens of (r rep w^T)                                   (B, H, m, N)
    rep   <- rep + step_rep (A w)                           extraction
    dR     = softmax(r rep rep^T) rep                       contraction               (B, H, m, p)
    out    = Linear_out(step_x A^T dR)                      broadcast; A^T is not normalised again

Linear in N for a fixed m. Other attentions are special cases, by the choice of the representatives:

    the tokens themselves      they need no extraction: A = I, dR = softmax(r w w^T) w up to the step sizes: MSSA (CRATE)
    not contracted (dR = rep)  tokens speak through m agents only: agent attention
    orthogonal and long        the contraction leaves them alone: with phi_i = A[:, i], out_i = phi_i^T (rep_0 + step_rep
                               sum_j phi_j w_j^T), linear attention with the feature map phi
    fixed, one per channel     A holds the softmax of each channel over the tokens, dR (p x p) mixes channels: channel attention
    principal directions       the same in the axes of the tokens themselves: each image and head has its own orthonormal p
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.mixers.base import merge_heads
from csan_mm.mixers.representatives import pool_tokens, principal_directions, resolve_rep_grid
from csan_mm.mixers.subspace import SubspaceMixer
from csan_mm.registry import MIXERS

REPRESENTATIVES = ("pooled", "learned", "tokens", "channels", "principal")
#: Kinds whose number is given by the tokens or by the width of a head.
UNCOUNTED = ("tokens", "channels", "principal")


class Trace(NamedTuple):
    """What CBSA computes on the way; the symbols are those at the top of this file."""

    tokens: Tensor  # w (B, H, N, p)
    coefficients: Tensor | None  # A (B, H, m, N); None: the identity
    representatives: Tensor  # rep, extracted (B, H, m, p)
    contracted: Tensor  # dR (B, H, m, p)


@MIXERS.register_module(name="cbsa")
class CBSA(SubspaceMixer):
    """Contract-and-broadcast self-attention, (B, N, C) -> (B, N, C); the formulas stand at the top of this file.

    Args:
        embed_dims: C.
        num_heads: H.
        window_size: Accepted from windowed backbones, for the size of the grid; there is no bias. Default: None.
        qkv_bias: Must be False, see :class:`SubspaceMixer`, like the next. Default: False.
        inner_dims: H p. Default: ``embed_dims``.
        representatives: What they start from: 'pooled' from the tokens of the grid, 'learned', the 'tokens' themselves (MSSA) or
            one fixed unit vector per channel of a head ('channels': channel attention), or the tokens' 'principal' directions in
            each head, see :func:`principal_directions`. Default: 'pooled'.
        rep_grid: Rows and columns of 'pooled' ones; of 'learned' ones the product is the number. One number stands for both.
            Default: 8 x 8, in smaller windows one per token. The others have no choice: leave it ``None``.
        contraction: Whether representatives are contracted; without, dR = rep (agent attention). Default: True.
        legacy_pooling: Pool the first tokens of the sequence in place of the grid's: with a class token in front, that is the
            class token in and the last patch out. The published classification weights were trained so. Default: False.

    Raises:
        ValueError: See :class:`SubspaceMixer`; options that contradict each other; on calling, a mask, or no grid to pool on.
    """

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        window_size: int | None = None,
        qkv_bias: bool = False,
        inner_dims: int | None = None,
        representatives: str = "pooled",
        rep_grid: int | tuple[int, int] | None = None,
        contraction: bool = True,
        legacy_pooling: bool = False,
    ) -> None:
        check_arguments(locals())
        super().__init__(embed_dims, num_heads, window_size, qkv_bias, inner_dims)
        self._check(representatives, rep_grid, legacy_pooling)
        self.representatives = representatives
        # Only pooled representatives are places of a window.
        self.rep_grid = resolve_rep_grid(rep_grid, window_size if representatives == "pooled" else None)
        self.contraction = contraction
        self.legacy_pooling = legacy_pooling
        head_dims = self.inner_dims // num_heads
        self.step_x = nn.Parameter(torch.randn(num_heads, 1, 1))
        self.step_rep = nn.Parameter(torch.randn(num_heads, 1, 1))
        self.reps: nn.Parameter | None = None
        if representatives == "learned":
            count = self.rep_grid[0] * self.rep_grid[1]
            self.reps = nn.Parameter(torch.randn(num_heads, count, head_dims) * head_dims**-0.5)

    @staticmethod
    def _check(representatives: str, rep_grid: int | tuple[int, int] | None, legacy_pooling: bool) -> None:
        if representatives not in REPRESENTATIVES:
            raise ArgumentError(
                f"representatives={representatives!r} is unknown: take one of {', '.join(REPRESENTATIVES)}"
            )
        if rep_grid is not None and representatives in UNCOUNTED:
            raise ArgumentError(f"rep_grid={rep_grid!r}: the number of {representatives!r} is given, leave it None")
        if legacy_pooling and representatives != "pooled":
            raise ArgumentError(
                f"legacy_pooling=True pools, and representatives={representatives!r} do not: set one of them back"
            )

    def forward(self, x: Tensor, grid: tuple[int, int] | None = None, mask: Tensor | None = None) -> Tensor:
        """Mix tokens x (B, N, C).

        Args:
            x: Tokens of the grid, row by row, behind any others (class, registers).
            grid: (H, W) of the tokens; needed to pool.
            mask: Must be ``None``.
        """
        self.refuse_mask(mask)
        _, coefficients, _, contracted = self.trace(x, grid)
        y = contracted if coefficients is None else coefficients.transpose(-2, -1) @ contracted  # (B, H, N, p)
        return self.to_out(merge_heads(self.step_x * y))

    def trace(self, x: Tensor, grid: tuple[int, int] | None = None) -> Trace:
        """All up to the broadcast, for :meth:`forward` and for pictures."""
        w = self.split_heads(self.proj(x))  # (B, H, N, p)
        coefficients, rep = None, w
        if self.representatives != "tokens":
            start = self.start(w, grid)
            coefficients = ((start * self.scale) @ w.transpose(-2, -1)).softmax(dim=-1)
            rep = start
        rep = rep + self.step_rep * (w if coefficients is None else coefficients @ w)
        return Trace(w, coefficients, rep, self.contract(rep))

    def shares(self, x: Tensor, grid: tuple[int, int] | None = None) -> tuple[Tensor, Tensor]:
        """A (B, H, m, N) and the contraction's weights S (B, H, m, m): token i takes from token j the share (A^T S A)_ij.

        The N x N matrix itself is not formed; the identity stands in for A without an extraction and for S without a contraction.
        """
        _, coefficients, rep, _ = self.trace(x, grid)
        S = torch.eye(rep.shape[-2], dtype=rep.dtype, device=rep.device).expand(*rep.shape[:-1], -1)
        A = S if coefficients is None else coefficients
        return A, ((rep * self.scale) @ rep.transpose(-2, -1)).softmax(dim=-1) if self.contraction else S

    def start(self, w: Tensor, grid: tuple[int, int] | None) -> Tensor:
        """Representatives before the extraction, (B or 1, H, m, p), from the projected tokens (B, H, N, p)."""
        if self.representatives == "learned":
            return self.reps.unsqueeze(0)
        if self.representatives == "channels":
            axes = torch.eye(w.shape[-1], dtype=w.dtype, device=w.device)
            return axes.expand(1, self.num_heads, -1, -1)
        if self.representatives == "principal":
            return principal_directions(w)
        prefix = self.count_prefix(w.transpose(1, 2), grid)
        return pool_tokens(w, grid, 0 if self.legacy_pooling else prefix, self.rep_grid)

    def contract(self, rep: Tensor) -> Tensor:
        """One step of softmax attention among the representatives, or nothing."""
        return scaled_dot_product_attention(rep, rep, rep, scale=self.scale) if self.contraction else rep
