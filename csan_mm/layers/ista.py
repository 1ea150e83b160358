"""ISTA: one step of sparse coding, which stands where other transformers have their feed-forward network (CRATE, CBSA)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, relu

from csan_mm.common.arguments import check_arguments


class ISTA(nn.Module):
    """y = relu(x + step (D^T x - D^T D x) - step lambda), (..., C) -> (..., C), without a residual.

    One proximal gradient step from x towards the sparse code y >= 0 of x in the dictionary D (C x C, the only
    parameter): min_y |x - D y|^2 / 2 + lambda |y|_1 (Yu et al., "White-Box Transformers via Sparse Rate Reduction", NeurIPS 2023,
    eq. 17). Both products with D^T are one: D^T x - D^T D x = D^T (x - D x).

    Args:
        embed_dims: C.
        step_size: step. Default: 0.1.
        threshold: lambda. Default: 0.1, so that step lambda = 0.01.


    Raises:
        ValueError: A width below 1, a step not above 0, a negative threshold.
    """

    def __init__(self, embed_dims: int, step_size: float = 0.1, threshold: float = 0.1) -> None:
        check_arguments(locals())
        super().__init__()
        self.step_size = step_size
        self.threshold = threshold
        self.weight = nn.Parameter(torch.empty(embed_dims, embed_dims))
        nn.init.kaiming_uniform_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Take the step; in row vectors D x is linear(x, D)."""
        descent = linear(x - linear(x, self.weight), self.weight.t())
        return relu(x + self.step_size * (descent - self.threshold))
