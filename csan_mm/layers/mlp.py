"""The feed-forward network of a transformer block."""

from torch import Tensor, nn


class Mlp(nn.Module):
    """fc2(GELU(fc1(x))) over the last axis, which keeps its size.

    Args:
        embed_dims: Width C.
        hidden_dims: Width between the layers.
    """

    def __init__(self, embed_dims: int, hidden_dims: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(embed_dims, hidden_dims)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden_dims, embed_dims)

    def forward(self, x: Tensor) -> Tensor:
        """(..., C) -> (..., C)."""
        return self.fc2(self.act(self.fc1(x)))
