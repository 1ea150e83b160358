"""CBSA in a ViT that was pre-trained with softmax attention (arXiv 2509.16875, the adaptation of pre-trained ViTs).

All weights stay (``qkv`` with bias, ``proj``), only the forward changes. B images, H heads of width p, N tokens, m
representatives, r = p^-0.5:

    q, k, v = Linear_qkv(x)                                                         (B, H, N, p) each
    Q       = q averaged over the cells of a coarse grid                            (B, H, m, p)
    R       = softmax_tokens(r Q k^T) v               extraction                    (B, H, m, p)
    R      <- softmax(r R' R'^T) R',  R' = Q + R      contraction, if there is one
    out     = Linear_proj(softmax_reps(r q Q^T) R)    broadcast, normalised over the representatives

There are no step sizes. Without contraction this is the published forward, which is agent attention. The contraction is commented
out in the published file: its form here is our reading.
"""

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from csan_mm.common.arguments import check_arguments
from csan_mm.mixers.base import TokenMixer, merge_heads
from csan_mm.mixers.representatives import pool_tokens, resolve_rep_grid
from csan_mm.registry import MIXERS


@MIXERS.register_module(name="cbsa-adapted")
class AdaptedCBSA(TokenMixer):
    """CBSA on the weights of a softmax attention, (B, N, C) -> (B, N, C); the formulas stand at the top of this file.

    Args:
        embed_dims: C.
        num_heads: H, a divisor of C.
        window_size: Accepted from windowed backbones, for the size of the grid; there is no bias. Default: None.
        qkv_bias: Whether q, k and v have a bias. Default: True.
        qk_norm: LayerNorm on each head's q and k, as timm has it. Default: False.
        inner_dims: Width that is split over the heads. Default: ``embed_dims``.
        rep_grid: Rows and columns of representatives; one number stands for both. Default: 8 x 8, in smaller windows one
            per token.
        contraction: Whether representatives are contracted. Default: True.
        legacy_pooling: Pool the first tokens of the sequence in place of the grid's, as the published code does: with a class
            token in front, that one in and the last patch out. Default: False.

    Raises:
        ValueError: Heads that do not divide the width, an invalid ``rep_grid``; on calling, a mask, or no grid.
    """

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        window_size: int | None = None,
        qkv_bias: bool = True,
        qk_norm: bool = False,
        inner_dims: int | None = None,
        rep_grid: int | tuple[int, int] | None = None,
        contraction: bool = True,
        legacy_pooling: bool = False,
    ) -> None:
        check_arguments(locals())
        super().__init__(embed_dims, num_heads, window_size, inner_dims=inner_dims)
        self.rep_grid = resolve_rep_grid(rep_grid, window_size)
        self.contraction = contraction
        self.legacy_pooling = legacy_pooling
        self.qkv = nn.Linear(embed_dims, 3 * self.inner_dims, bias=qkv_bias)
        self.add_qk_norm(qk_norm)
        self.proj = nn.Linear(self.inner_dims, embed_dims)

    def forward(self, x: Tensor, grid: tuple[int, int] | None = None, mask: Tensor | None = None) -> Tensor:
        """Mix tokens x (B, N, C).

        Args:
            x: Tokens of the grid, row by row, behind any others (class, registers).
            grid: (H, W) of the tokens; needed to pool.
            mask: Must be ``None``.
        """
        self.refuse_mask(mask)
        q, k, v = self.queries_keys_values(x)  # (B, H, N, p) each
        first = self.count_prefix(x, grid)
        agents = pool_tokens(q, grid, 0 if self.legacy_pooling else first, self.rep_grid)  # Q (B, H, m, p)
        reps = scaled_dot_product_attention(agents, k, v, scale=self.scale)
        if self.contraction:
            reps = agents + reps
            reps = scaled_dot_product_attention(reps, reps, reps, scale=self.scale)
        return self.proj(merge_heads(scaled_dot_product_attention(q, agents, reps, scale=self.scale)))
