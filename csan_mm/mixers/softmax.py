"""Softmax attention, the mixer all four papers compare with."""

from torch import Tensor, nn
from torch.nn.functional import normalize, scaled_dot_product_attention

from csan_mm.common.arguments import check_arguments
from csan_mm.layers.dynamic import at_least_float32
from csan_mm.mixers.base import TokenMixer, merge_heads
from csan_mm.registry import MIXERS

#: Shortest query that is given unit length (ours); shorter ones are divided by this.
SHORTEST = 1e-6


@MIXERS.register_module(name="softmax")
class SoftmaxAttention(TokenMixer):
    """Multi-head self-attention: out = Linear_proj(softmax_j(s_ij) v_j), s_ij = d^-0.5 q_i . k_j (+ bias + mask).

    With ``window_size`` it is Swin's window attention (Liu et al., ICCV 2021, eq. 4), without it ViT's.

    Args:
        embed_dims: C.
        num_heads: H, a divisor of C.
        window_size: See :class:`TokenMixer`.
        qkv_bias: Whether q, k and v have a bias. Default: True.
        qk_norm: LayerNorm on each head's q and k, as timm has it. Default: False.
        out_dims: Width of the output. Default: ``embed_dims``.
        inner_dims: Width that is split over the heads. Default: ``out_dims``.
        query_pool: Number of successive tokens that share one query, their maximum (Hiera). Default: 1.
        unit_queries: q / |q| in place of q, each head's by itself; the factor d^-0.5 stays. MALA's paper shows with it what
            the length of a query is worth. Default: False.
    """

    has_scores = True

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        window_size: int | None = None,
        qkv_bias: bool = True,
        qk_norm: bool = False,
        out_dims: int | None = None,
        inner_dims: int | None = None,
        query_pool: int = 1,
        unit_queries: bool = False,
    ) -> None:
        check_arguments(locals())
        super().__init__(embed_dims, num_heads, window_size, out_dims, inner_dims, query_pool)
        self.qkv = nn.Linear(embed_dims, 3 * self.inner_dims, bias=qkv_bias)
        self.add_qk_norm(qk_norm)
        self.unit_queries = unit_queries
        self.proj = nn.Linear(self.inner_dims, self.out_dims)

    def forward(self, x: Tensor, grid: tuple[int, int] | None = None, mask: Tensor | None = None) -> Tensor:
        """Mix tokens x (B, N, C) -> (B, n, C_out); the grid is not needed."""
        q, k, v = self.queries_keys_values(x)
        if self.unit_queries:
            q = normalize(at_least_float32(q), dim=-1, eps=SHORTEST).to(q.dtype)
        bias = self.score_bias(x.shape[0], mask)
        if bias is not None:
            bias = bias.to(q.dtype)
        y = scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=self.scale)
        return self.proj(merge_heads(y))
