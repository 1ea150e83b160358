"""What CBSA, MSSA and TSSA share: one projection onto the bases of H subspaces plays query, key and value."""

from torch import nn

from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.mixers.base import TokenMixer


class SubspaceMixer(TokenMixer):
    """Base of mixers w = Linear_proj(x) (no bias), ..., out = Linear_out(y), heads of width p = inner_dims / H.

    Args:
        embed_dims: C.
        num_heads: H, a divisor of ``inner_dims``.
        window_size: See :class:`TokenMixer`.
        qkv_bias: Must be False: the rows of the projection's weight span subspaces, and a bias would move them off the origin.
        inner_dims: Width that is split over the heads. Default: ``embed_dims``.

    Raises:
        ValueError: ``qkv_bias=True``, heads that do not divide the width.
    """

    def __init__(
        self, embed_dims: int, num_heads: int, window_size: int | None, qkv_bias: bool, inner_dims: int | None
    ) -> None:
        check_arguments(locals())
        super().__init__(embed_dims, num_heads, window_size, inner_dims=inner_dims)
        if qkv_bias:
            raise ArgumentError(
                f"qkv_bias=True: the one projection of {type(self).__name__} has no bias; take False, or None"
            )
        self.proj = nn.Linear(embed_dims, self.inner_dims, bias=False)
        self.to_out = nn.Linear(self.inner_dims, embed_dims)
