"""MSSA, CRATE's attention (Yu et al., "White-Box Transformers via Sparse Rate Reduction", NeurIPS 2023, section 2.3)."""

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from csan_mm.mixers.base import merge_heads
from csan_mm.mixers.subspace import SubspaceMixer
from csan_mm.registry import MIXERS


@MIXERS.register_module(name="mssa")
class MSSA(SubspaceMixer):
    """Softmax attention with tied projections: out = Linear_out(softmax(w w^T p^-0.5) w), w = Linear_proj(x).

    It is CBSA whose representatives are the tokens themselves, ``CBSA(representatives='tokens')`` with step sizes 0 and 1.

    Args:
        embed_dims: C.
        num_heads: H.
        window_size: Gives windows their relative position bias, see :class:`TokenMixer`. Default: None.
        qkv_bias: Must be False, see :class:`SubspaceMixer`, like the next. Default: False.
        inner_dims: Default: ``embed_dims``.

    Raises:
        ValueError: See :class:`SubspaceMixer`.
    """

    has_scores = True

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        window_size: int | None = None,
        qkv_bias: bool = False,
        inner_dims: int | None = None,
    ) -> None:
        super().__init__(embed_dims, num_heads, window_size, qkv_bias, inner_dims)

    def forward(self, x: Tensor, grid: tuple[int, int] | None = None, mask: Tensor | None = None) -> Tensor:
        """Mix tokens x (B, N, C); the grid is not needed."""
        w = self.split_heads(self.proj(x))  # (B, H, N, p)
        bias = self.score_bias(x.shape[0], mask)
        if bias is not None:
            bias = bias.to(w.dtype)
        return self.to_out(merge_heads(scaled_dot_product_attention(w, w, w, attn_mask=bias, scale=self.scale)))
