"""Lion: found by name from every scope, and one step by hand."""

import pytest
import torch
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope
from torch import nn

import csan_mm  # noqa: F401


@pytest.mark.parametrize("scope", ["mmengine", "mmseg", "mmpretrain"])
def test_two_steps_are_the_papers_rule(scope):
    """m = 0; p -= lr (sign(b1 m + (1 - b1) g) + wd p); m = b2 m + (1 - b2) g (arXiv 2302.06675, algorithm 2)."""
    lr, decay, b1, b2 = 0.1, 0.5, 0.9, 0.99
    model = nn.Linear(3, 1, bias=False).double()
    optimizer = {"type": "csan_mm.Lion", "lr": lr, "weight_decay": decay, "betas": (b1, b2)}
    with DefaultScope.overwrite_default_scope(scope):
        wrapper = build_optim_wrapper(model, {"type": "OptimWrapper", "optimizer": optimizer})
    p, m = model.weight.detach().clone(), torch.zeros(1, 3, dtype=torch.double)
    for g in (torch.tensor([[1.0, -2.0, 1e-4]]), torch.tensor([[-0.05, 3.0, -1.0]])):
        g = g.double()
        p = p - lr * ((b1 * m + (1 - b1) * g).sign() + decay * p)
        m = b2 * m + (1 - b2) * g
        wrapper.update_params((model.weight * g).sum())
        torch.testing.assert_close(model.weight.detach(), p)
