"""The row mean of CSaN's smooth-rectified scores, in memory linear in the number of tokens.

e_i = mean_j phi(s_ij),   phi(t) = t if t > b else b exp(t / b - 1),   b = 0.25      (CSaN, CVPR 2026)

The plain form is ``phi(s).mean(-1)``. The fast ones below use, with u = s / b,

    phi(s) = b (exp(min(u, 1)) / exp(1) + max(u, 1) - 1),      phi'(s) = exp(min(u, 1)) / exp(1),

which needs exp alone (celu's expm1 is six times slower on a CPU), and work on blocks small enough to stay in the cache.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn.functional import celu
from torch.utils.flop_counter import register_flop_formula

from csan_mm.ops.autocast import autocast_off

#: phi's bend b: the identity above it, an exponential tail below.
BEND = 0.25

#: Scores that exist at one time (ours): on a CPU 2^18 float32 are 1 MiB, the second-level cache of one core; elsewhere
#: 64 MiB, so that the device has enough to do.
SCORES_IN_CACHE, SCORES_AT_A_TIME = 2**18, 2**24


def scores_at_a_time(device: torch.device) -> int:
    """How many scores may exist at one time on ``device``."""
    return SCORES_IN_CACHE if device.type == "cpu" else SCORES_AT_A_TIME


def phi(t: Tensor) -> Tensor:
    """phi(t) = t if t > b else b exp(t/b - 1): positive, monotone, smooth at b. Any shape, same shape back."""
    return celu(t - BEND, alpha=BEND) + BEND


def plain_phi_row_mean(scores: Tensor) -> Tensor:
    """Row mean of phi as it is written: (..., Nq, Nk) -> (..., Nq, 1) in float32 (float64 stays)."""
    scores = scores if scores.dtype == torch.float64 else scores.float()
    return phi(scores).mean(dim=-1, keepdim=True)


def phi_row_mean(scores: Tensor, bend: float = BEND) -> Tensor:
    """Row mean of phi over given scores: (..., Nq, Nk) -> (..., Nq, 1) in float32 (float64 stays).

    In a captured graph (torch.compile, export) it is the plain form, which a compiler fuses by itself. The kernels know one
    bend, B = 0.25; any other b comes from them by phi_b(t) = b/B phi_B(t B/b).
    """
    if bend != BEND:
        return phi_row_mean(scores * (BEND / bend)) * (bend / BEND)
    return plain_phi_row_mean(scores) if torch.compiler.is_compiling() else _ScoreRowMean.apply(scores)


def blocked_phi_row_mean(q: Tensor, k: Tensor, budget: int | None = None, bend: float = BEND) -> Tensor:
    """The row mean of phi(q k^T) without the Nq x Nk array, forward or backward.

    Blocks are computed one after the other, in the backward pass once more. It is an operator of its own,
    ``csan_mm::phi_row_mean``, so torch.compile keeps it whole; an exported graph, which other programs read, has the plain form.

    Args:
        q: Scaled queries (B, H, Nq, d).
        k: Keys (B, H, Nk, d).
        budget: Upper bound on the scores that exist at one time. Default: :func:`scores_at_a_time`.
        bend: b, see :func:`phi_row_mean`. Default: 0.25.

    Returns:
        (B, H, Nq, 1) in float32 (float64 for float64 inputs).
    """
    if bend != BEND:
        return blocked_phi_row_mean(q * (BEND / bend), k, budget) * (bend / BEND)
    if _is_exporting():
        return plain_phi_row_mean(q @ k.transpose(-2, -1))
    budget = budget or scores_at_a_time(q.device)
    return _row_mean(q.flatten(0, 1), k.flatten(0, 1), budget).view(*q.shape[:-1], 1)


def _is_exporting() -> bool:
    """Whether a graph for other programs is being captured; torch before 2.7 only knows that some graph is."""
    known = getattr(torch.compiler, "is_exporting", None)
    return torch.compiler.is_compiling() if known is None else known()


class _ScoreRowMean(torch.autograd.Function):
    """:func:`plain_phi_row_mean` with its one-line derivative; nothing is kept but the scores."""

    @staticmethod
    def forward(ctx: FunctionCtx, scores: Tensor) -> Tensor:
        ctx.save_for_backward(scores)
        return _sum_of_phi(_over_bend(scores)).unsqueeze(-1) / scores.shape[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        (scores,) = ctx.saved_tensors
        return _exponential_(_over_bend(scores)).mul_(grad / (math.e * scores.shape[-1])).to(scores.dtype)


def _over_bend(scores: Tensor) -> Tensor:
    """u = s / b as a new array in float32 or float64."""
    return scores / BEND if scores.dtype == torch.float64 else scores.float() / BEND


def _exponential_(u: Tensor) -> Tensor:
    """exp(min(u, 1)) = e phi'(s), in place."""
    return u.clamp_(max=1).exp_()


def _sum_of_phi(u: Tensor, spare: Tensor | None = None) -> Tensor:
    """sum_j phi(b u_j): (..., N) -> (...,). Overwrites u and, where given, ``spare``, an array of the same shape."""
    tail = torch.clamp(u, max=1, out=spare).exp_().sum(-1)
    return (tail / math.e + (u.clamp_(min=1).sum(-1) - u.shape[-1])) * BEND


class _Blocks:
    """u = q k^T / b in blocks of a budget: several heads whole where they fit, else some rows of one head.

    Args:
        q: (G, Nq, d), G = B H.
        k: (G, Nk, d).
        budget: Upper bound on the scores of a block.
    """

    def __init__(self, q: Tensor, k: Tensor, budget: int) -> None:
        groups, rows, _ = q.shape
        self.rows = min(rows, max(1, budget // k.shape[1]))
        self.groups = min(groups, max(1, budget // (self.rows * k.shape[1]))) if self.rows == rows else 1
        self.half = q.dtype not in (torch.float32, torch.float64)
        # Half precision keeps its range: it is divided by b after the product.
        self.q, self.keys = (q if self.half else q / BEND), k.transpose(1, 2)
        self.buffer = q.new_empty(self.groups, self.rows, k.shape[1])

    def __iter__(self) -> Iterator[tuple[slice, slice]]:
        for group in range(0, self.q.shape[0], self.groups):
            for row in range(0, self.q.shape[1], self.rows):
                yield slice(group, group + self.groups), slice(row, row + self.rows)

    def scores(self, groups: slice, rows: slice) -> Tensor:
        """The block's u in float32 or float64; the next call may overwrite it."""
        q = self.q[groups, rows]
        block = self.buffer[: q.shape[0], : q.shape[1]]
        torch.bmm(q, self.keys[groups], out=block)
        return _over_bend(block) if self.half else block


@torch.library.custom_op("csan_mm::phi_row_mean", mutates_args=())
def _row_mean(q: Tensor, k: Tensor, budget: int) -> Tensor:
    """e (G, Nq) from q (G, Nq, d) and k (G, Nk, d)."""
    e = _accumulator(q, q.shape[:2])
    with autocast_off(q.device):
        blocks = _Blocks(q, k, budget)
        spare = torch.empty_like(blocks.buffer, dtype=e.dtype)
        for groups, rows in blocks:
            u = blocks.scores(groups, rows)
            e[groups, rows] = _sum_of_phi(u, spare[: u.shape[0], : u.shape[1]])
        return e.div_(k.shape[1])


@torch.library.custom_op("csan_mm::phi_row_mean_backward", mutates_args=())
def _row_mean_backward(grad: Tensor, q: Tensor, k: Tensor, budget: int) -> tuple[Tensor, Tensor]:
    """Gradients of q and k: d e_i / d s_ij = phi'(s_ij) / Nk, so the factor of row i stands outside both products."""
    grad_q, grad_k = _accumulator(q, q.shape), _accumulator(k, k.shape).zero_()
    with autocast_off(q.device):
        factor = (grad / (math.e * k.shape[1])).unsqueeze(-1)  # (G, Nq, 1)
        weighted, keys = q * factor, k.to(grad.dtype)
        blocks = _Blocks(q, k, budget)
        for groups, rows in blocks:
            slope = _exponential_(blocks.scores(groups, rows))
            grad_q[groups, rows] = torch.bmm(slope, keys[groups])
            grad_k[groups].baddbmm_(slope.transpose(1, 2), weighted[groups, rows])
        return grad_q.mul_(factor).to(q.dtype), grad_k.to(k.dtype)


def _accumulator(like: Tensor, shape: torch.Size) -> Tensor:
    return like.new_empty(shape, dtype=torch.float64 if like.dtype == torch.float64 else torch.float32)


@_row_mean.register_fake
def _(q: Tensor, k: Tensor, budget: int) -> Tensor:
    return _accumulator(q, q.shape[:2])


@_row_mean_backward.register_fake
def _(grad: Tensor, q: Tensor, k: Tensor, budget: int) -> tuple[Tensor, Tensor]:
    return q.new_empty(q.shape), k.new_empty(k.shape)


def _keep(ctx: FunctionCtx, inputs: tuple[Tensor, Tensor, int], output: Tensor) -> None:
    q, k, ctx.budget = inputs
    ctx.save_for_backward(q, k)


def _gradients(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, Tensor, None]:
    return *_row_mean_backward(grad.contiguous(), *ctx.saved_tensors, ctx.budget), None


_row_mean.register_autograd(_gradients, setup_context=_keep)


@register_flop_formula(torch.ops.csan_mm.phi_row_mean)
def _flops(q_shape: torch.Size, k_shape: torch.Size, *args: object, **kwargs: object) -> int:
    """One product of (Nq, d) and (d, Nk) per group, as the plain form has it."""
    groups, rows, dims = q_shape
    return 2 * groups * rows * dims * k_shape[1]


@register_flop_formula(torch.ops.csan_mm.phi_row_mean_backward)
def _backward_flops(
    grad_shape: torch.Size, q_shape: torch.Size, k_shape: torch.Size, *args: object, **kwargs: object
) -> int:
    """The scores once more, and a product for each gradient."""
    return 3 * _flops(q_shape, k_shape)
