"""The feed-forward networks of a transformer block."""

from torch import Tensor, nn

from csan_mm.common.arguments import check_arguments
from csan_mm.layers.depthwise import DepthwiseConv2d, convolve_tokens


class Mlp(nn.Module):
    """fc2(GELU(fc1(x))) over the last axis, which keeps its size.

    Args:
        embed_dims: Width C.
        hidden_dims: Width between the layers.

    Raises:
        ValueError: A width below 1.
    """

    def __init__(self, embed_dims: int, hidden_dims: int) -> None:
        check_arguments(locals())
        super().__init__()
        self.fc1 = nn.Linear(embed_dims, hidden_dims)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden_dims, embed_dims)

    def forward(self, x: Tensor) -> Tensor:
        """(..., C) -> (..., C)."""
        return self.fc2(self.act(self.fc1(x)))


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
        super().__init__(embed_dims, hidden_dims)
        self.dwconv = DepthwiseConv2d(hidden_dims, 3)

    def forward(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """(B, N, C) -> (B, N, C); the last H W tokens form ``grid``."""
        y = self.act(self.fc1(x))
        return self.fc2(y + convolve_tokens(self.dwconv, y, grid, x.shape[1] - grid[0] * grid[1]))
