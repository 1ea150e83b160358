"""The feed-forward networks of a transformer block."""

from timm.layers import Mlp
from torch import Tensor

from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.depthwise import DepthwiseConv2d, convolve_tokens

__all__ = ["ConvMlp", "Mlp", "hidden_width"]


def hidden_width(embed_dims: int, ratio: float) -> int:
    """Width of the hidden layer, ``ratio`` times C, rounded down.

    Raises:
        ValueError: It is below 1.
    """
    if ratio * embed_dims < 1:
        raise ArgumentError(f"mlp_ratio={ratio} leaves nothing of {embed_dims} channels: take {1 / embed_dims} or more")
    return int(ratio * embed_dims)


class ConvMlp(Mlp):
    """fc2(y + dwconv3x3(y)), y = GELU(fc1(x)), on tokens (B, N, C): MAViT's network (arXiv 2507.00698) for a ViT.

    Tokens in front of the grid's have no place, and no convolution: theirs is fc2(y).

    Args:
        embed_dims: Width C.
        hidden_dims: Width of y.

    Raises:
        ValueError: A width below 1.
    """

    def __init__(self, embed_dims: int, hidden_dims: int) -> None:
        check_arguments(locals())
        super().__init__(embed_dims, hidden_dims)
        self.dwconv = DepthwiseConv2d(hidden_dims, 3)

    def forward(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """(B, N, C) -> (B, N, C); the last H W tokens form ``grid``."""
        y = self.act(self.fc1(x))
        return self.fc2(y + convolve_tokens(self.dwconv, y, grid, x.shape[1] - grid[0] * grid[1]))
