"""The row mean of CSaN's smooth-rectified scores, in memory linear in the number of tokens.

e_i = mean_j phi(q_i . k_j),   phi(t) = t if t > b else b exp(t / b - 1),   b = 0.25      (CSaN, CVPR 2026)
"""

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn.functional import celu

from csan_mm.ops.autocast import autocast_off

#: phi's bend b: the identity above it, an exponential tail below.
BEND = 0.25

#: Scores that exist at one time: 2^24 float32 are 64 MiB.
SCORES_AT_A_TIME = 2**24


def phi(t: Tensor) -> Tensor:
    """phi(t) = t if t > b else b exp(t/b - 1): positive, monotone, smooth at b. Any shape, same shape back."""
    return celu(t - BEND, alpha=BEND) + BEND


def phi_row_mean(scores: Tensor) -> Tensor:
    """Plain row mean of phi over given scores: (..., Nq, Nk) -> (..., Nq, 1) in float32 (float64 stays)."""
    scores = scores if scores.dtype == torch.float64 else scores.float()
    return phi(scores).mean(dim=-1, keepdim=True)


def blocked_phi_row_mean(q: Tensor, k: Tensor, scores_at_a_time: int = SCORES_AT_A_TIME) -> Tensor:
    """The row mean of phi(q k^T) without the Nq x Nk array, forward or backward.

    Blocks of rows are computed one after the other; the backward pass computes them again,
    d e_i / d s_ij = phi'(s_ij) / Nk. While a graph is being captured (torch.compile, export) the plain form is used:
    its number of blocks would otherwise be frozen into the graph.

    Args:
        q: Scaled queries (B, H, Nq, d).
        k: Keys (B, H, Nk, d).
        scores_at_a_time: Upper bound on the scores that exist at one time. Default: 2^24.

    Returns:
        (B, H, Nq, 1) in float32 (float64 for float64 inputs).
    """
    if torch.compiler.is_compiling():
        return phi_row_mean(q @ k.transpose(-2, -1))
    return _BlockedPhiRowMean.apply(q, k, scores_at_a_time)


def _row_blocks(q: Tensor, k: Tensor, scores_at_a_time: int) -> range:
    per_row = q.shape[0] * q.shape[1] * k.shape[2]
    return range(0, q.shape[2], max(1, scores_at_a_time // max(1, per_row)))


def _scores(q: Tensor, k: Tensor) -> Tensor:
    scores = q @ k.transpose(-2, -1)
    return scores if scores.dtype == torch.float64 else scores.float()


class _BlockedPhiRowMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, q: Tensor, k: Tensor, scores_at_a_time: int) -> Tensor:
        ctx.save_for_backward(q, k)
        ctx.scores_at_a_time = scores_at_a_time
        blocks = _row_blocks(q, k, scores_at_a_time)
        # q and k already have the autocast type; turned off so that the backward pass recomputes the very same scores.
        with autocast_off(q.device):
            return torch.cat([phi_row_mean(_scores(q[:, :, i : i + blocks.step], k)) for i in blocks], dim=2)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        q, k = ctx.saved_tensors
        grad_q, grad_k = torch.empty_like(q), torch.zeros_like(k, dtype=grad.dtype)
        blocks = _row_blocks(q, k, ctx.scores_at_a_time)
        for i in blocks:
            rows = slice(i, i + blocks.step)
            slope = (
                (_scores(q[:, :, rows], k) / BEND - 1).clamp_(max=0).exp_()
            )  # phi'(s): 1 above b, exp(s/b - 1) below
            grad_s = slope * (grad[:, :, rows] / k.shape[2])
            grad_q[:, :, rows] = (grad_s @ k.to(grad_s.dtype)).to(q.dtype)
            grad_k += grad_s.transpose(-2, -1) @ q[:, :, rows].to(grad_s.dtype)
        return grad_q, grad_k.to(k.dtype), None
