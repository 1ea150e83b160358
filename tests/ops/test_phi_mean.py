"""The blocked row mean of phi against loops, its limits, and its gradients."""

import math

import pytest
import torch

from csan_mm.ops.phi_mean import BEND, blocked_phi_row_mean, phi, phi_row_mean


def loop_phi(t: float) -> float:
    return t if t > 0.25 else 0.25 * math.exp(t / 0.25 - 1)


def test_phi_is_its_formula():
    t = torch.linspace(-3, 3, 61, dtype=torch.float64)
    torch.testing.assert_close(phi(t), torch.tensor([loop_phi(v) for v in t.tolist()], dtype=torch.float64))


def test_phi_is_smooth_positive_and_monotone():
    t = torch.linspace(-5, 5, 1001, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(phi(t).sum(), t)
    assert (phi(t) > 0).all()
    assert (slope > 0).all()
    at_bend = torch.tensor([BEND - 1e-9, BEND + 1e-9], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(phi(at_bend).sum(), at_bend)
    torch.testing.assert_close(slope, torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("budget", [1, 20, 10**6], ids=["row_by_row", "some_rows", "one_block"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 5), (4, 9)])
def test_blocked_equals_loops_and_has_right_gradients(rows, columns, budget):
    q = torch.randn(2, 3, rows, 4, dtype=torch.float64, requires_grad=True)
    k = torch.randn(2, 3, columns, 4, dtype=torch.float64, requires_grad=True)
    e = blocked_phi_row_mean(q, k, budget)
    for b in range(2):
        for h in range(3):
            for i in range(rows):
                expected = sum(loop_phi(float(q[b, h, i] @ k[b, h, j])) for j in range(columns)) / columns
                assert e[b, h, i, 0].item() == pytest.approx(expected, rel=1e-12)
    assert torch.autograd.gradcheck(lambda q, k: blocked_phi_row_mean(q, k, budget), (q, k))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_sums_in_float32(dtype):
    q, k = torch.randn(1, 2, 300, 8).to(dtype), torch.randn(1, 2, 300, 8).to(dtype)
    e = blocked_phi_row_mean(q, k)
    assert e.dtype == torch.float32
    torch.testing.assert_close(e, phi_row_mean(q.float() @ k.float().transpose(-2, -1)), rtol=2e-2, atol=2e-2)
