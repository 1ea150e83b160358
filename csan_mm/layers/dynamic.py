"""What layers with a kernel per image share (WeightFormer, arXiv 2605.01711): W = w + dW / (||dW||_2 + 1).

Shapes: tokens (B, N, C) on a grid of H x W cells, N = H W; w any shape, a kernel per image (B, *w.shape).
"""

import torch
from torch import Tensor, nn


class DynamicLayer(nn.Module):
    """Base: a static kernel w, and what is predicted for each image added to it under the norm guard.

    A subclass sets ``self.w``, says in :meth:`predict` what dW is, and in its ``forward(x, grid)`` what to do with W.

    Args:
        norm_dims: Axes of a predicted kernel (B, *w.shape) over which the guard takes the norm.
        gain_shape: Shape of the layer scale, which has to broadcast against w.
        layer_scale: Start of learned gains on the predicted part, one per output channel; ``None``: no gains, as published.
    """

    w: nn.Parameter

    def __init__(self, norm_dims: tuple[int, ...], gain_shape: tuple[int, ...], layer_scale: float | None) -> None:
        super().__init__()
        self.norm_dims = norm_dims
        self.gain = None if layer_scale is None else nn.Parameter(torch.full(gain_shape, float(layer_scale)))

    def predict(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """dW (B, *w.shape), before the guard."""
        raise NotImplementedError(f"{type(self).__name__} must say how it predicts its kernel")

    def prediction_macs(self, grid: tuple[int, int]) -> int:
        """Multiply-accumulates that predicting the kernel of one image takes; elementwise work counts nothing."""
        raise NotImplementedError(f"{type(self).__name__} must say what its prediction costs")

    def kernel(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """W = w + dW / (||dW||_2 + 1), (B, *w.shape); the guard is in float32 whatever the tokens are."""
        update = at_least_float32(self.predict(x, grid))
        update = update / (torch.linalg.vector_norm(update, dim=self.norm_dims, keepdim=True) + 1)
        return self.w + (update if self.gain is None else self.gain * update)

    @torch.no_grad()
    def norm_ratio(self, x: Tensor, grid: tuple[int, int]) -> float:
        """||dW|| / ||w||, Frobenius norms, averaged over the images: how far the prediction has outgrown what is learned."""
        update = at_least_float32(self.predict(x, grid))
        norms = torch.linalg.vector_norm(update.flatten(1), dim=1)
        return float(norms.mean() / torch.linalg.vector_norm(self.w))


def at_least_float32(x: Tensor) -> Tensor:
    """float16 and bfloat16 become float32; float64 stays."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def pool_pairs(x: Tensor, dim: int) -> Tensor:
    """Mean of neighbours 2i and 2i + 1 along an axis; an odd last one is dropped, a single one kept.

    Written without a branch on the size, which an exported graph would freeze.
    """
    side = x.shape[dim]
    span = 2 * torch.sym_max(1, side // 2) - 1
    evens, odds = x.narrow(dim, 0, span), x.narrow(dim, torch.sym_min(1, side - 1), span)
    every_second = (slice(None),) * dim + (slice(None, None, 2),)
    return (evens[every_second] + odds[every_second]) / 2
