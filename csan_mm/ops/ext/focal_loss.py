"""Focal losses with gradient (Lin et al., arXiv:1708.02002), as ``mmcv.ops.focal_loss`` calls them.

With q the probability given to the truth and a its weight, the loss is -a (1 - q)^gamma log q.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from csan_mm.common.errors import ArgumentError
from csan_mm.ops.ext.dtypes import computable


def sigmoid_focal_loss_forward(
    input: Tensor, target: Tensor, weight: Tensor, output: Tensor, gamma: float, alpha: float
) -> None:
    """Set ``output`` (N, C) to the loss of every class taken for itself.

    Args:
        input: Logits (N, C).
        target: Class of each row (N,); C, or a negative number, is the background, false for every class.
        weight: (C,) weight of the rows of a class, or empty for 1. Background rows weigh 1.
        output: (N, C), set.
        gamma: The exponent.
        alpha: Weight of the true class; the others weigh 1 - alpha.

    Raises:
        ValueError: A target is above C.
    """
    _check_target(target, input.size(1))
    s, a, _ = _towards_truth(input, target, weight, alpha)
    output.copy_(-a * torch.sigmoid(-s).pow_(gamma) * F.logsigmoid(s))


def sigmoid_focal_loss_backward(
    input: Tensor, target: Tensor, weight: Tensor, grad_input: Tensor, gamma: float, alpha: float
) -> None:
    """Set ``grad_input`` (N, C) to the derivative of the loss.

    With s the logit, its sign turned for the false classes, and q = sigmoid(s):
    d loss / d s = -a (1 - q)^gamma (1 - q - gamma q log q).
    """
    s, a, sign = _towards_truth(input, target, weight, alpha)
    miss = torch.sigmoid(-s)
    slope = miss - gamma * (1 - miss) * F.logsigmoid(s)
    grad_input.copy_(-sign * a * miss.pow_(gamma) * slope)


def _towards_truth(input: Tensor, target: Tensor, weight: Tensor, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    """The logits with the false classes' sign turned, the weights, and the signs; each (N, C)."""
    (x,) = computable(input)
    hit = target[:, None] == torch.arange(x.size(1), device=x.device)
    sign = torch.where(hit, x.new_ones(()), -x.new_ones(()))
    a = torch.where(hit, x.new_full((), alpha), x.new_full((), 1 - alpha))
    if weight.numel():
        a = a * _row_weight(weight.to(x), target)[:, None]
    return sign * x, a, sign


def softmax_focal_loss_forward(
    input: Tensor, target: Tensor, weight: Tensor, output: Tensor, gamma: float, alpha: float
) -> None:
    """Set ``output`` (N,) to the loss of each row.

    Args:
        input: Softmax (not logits) of the scores, (N, C).
        target: Class of each row (N,); a row with a negative one does not count.
        weight: (C,) weight of the rows of a class, or empty for 1.
        output: (N,), set.
        gamma: The exponent.
        alpha: Weight of every class.

    Raises:
        ValueError: A target is C or above.
    """
    _check_target(target, input.size(1) - 1)
    q, a = _of_truth(input, target, weight, alpha)
    output.copy_(-a * (1 - q).pow(gamma) * _log(q))


def softmax_focal_loss_backward(
    input: Tensor, target: Tensor, weight: Tensor, buff: Tensor, grad_input: Tensor, gamma: float, alpha: float
) -> None:
    """Set ``grad_input`` (N, C) to the derivative of the loss by the scores before the softmax p.

    d loss / d score_c = buff (1[c = target] - p_c), with buff = q d loss / d q, to which ``buff`` (N,) is set.
    """
    q, a = _of_truth(input, target, weight, alpha)
    miss = 1 - q
    # (1 - q)^(gamma - 1) log q tends to 0 for q -> 1 (gamma > 0), but its first factor alone may be infinite.
    tail = torch.where(miss > 0, gamma * miss.pow(gamma - 1) * q * _log(q), torch.zeros_like(q))
    slope = a * (tail - miss.pow(gamma))
    buff.copy_(slope)
    (softmax,) = computable(input)
    hit = target[:, None] == torch.arange(softmax.size(1), device=softmax.device)
    grad_input.copy_(slope[:, None] * (hit.to(softmax) - softmax))


def _of_truth(softmax: Tensor, target: Tensor, weight: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """Probability of each row's class, and the row's weight: 0 where the target is negative; each (N,)."""
    (p,) = computable(softmax)
    q = p.gather(1, target.clamp(min=0)[:, None]).squeeze(1)
    a = alpha * (target >= 0).to(p)
    return q, a * _row_weight(weight.to(p), target) if weight.numel() else a


def _row_weight(weight: Tensor, target: Tensor) -> Tensor:
    """The weight of each row's class; 1 where it has none (mmcv's kernels read beyond the weights there)."""
    known = (target >= 0) & (target < weight.numel())
    return torch.where(known, weight[target.clamp(0, weight.numel() - 1)], weight.new_ones(()))


def _log(q: Tensor) -> Tensor:
    return q.clamp(min=torch.finfo(q.dtype).tiny).log()


def _check_target(target: Tensor, highest: int) -> None:
    if target.numel() and int(target.max()) > highest:
        raise ArgumentError(f"target: labels up to {highest} are allowed with this input, got {int(target.max())}")
