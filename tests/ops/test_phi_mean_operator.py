"""The blocked row mean as an operator: its plain twin, what torch asks of operators, compiling, counting."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from csan_mm.ops.phi_mean import BEND, blocked_phi_row_mean, phi_row_mean, plain_phi_row_mean


def queries_and_keys(*sizes, dtype=torch.float64):
    B, H, rows, columns, d = sizes
    return [torch.randn(B, H, n, d, dtype=dtype, requires_grad=True) for n in (rows, columns)]


@pytest.mark.parametrize("budget", [1, 40, 150, None], ids=["row", "rows", "heads", "default"])
def test_it_equals_its_plain_twin_with_gradients_in_float32(budget):
    q, k = queries_and_keys(2, 3, 7, 9, 4, dtype=torch.float32)
    weight = torch.randn(2, 3, 7, 1)
    fast, plain = blocked_phi_row_mean(3 * q, k, budget), plain_phi_row_mean(3 * q @ k.transpose(-2, -1))
    torch.testing.assert_close(fast, plain, rtol=1e-5, atol=1e-6)
    for got, expected in zip(*(torch.autograd.grad((e * weight).sum(), (q, k)) for e in (fast, plain))):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)


def test_scores_far_below_the_bend_keep_their_relative_precision():
    """Nothing is added to 1 and taken off again; the plain twin, which does so, is 0 here even in float64."""
    scores = -torch.linspace(1, 20, 30).reshape(5, 6)
    exact = (BEND * (scores.double() / BEND - 1).exp()).mean(-1, keepdim=True)
    torch.testing.assert_close(phi_row_mean(scores).double(), exact, rtol=1e-4, atol=0.0)


def test_the_mean_over_given_scores_has_right_gradients():
    scores = (2 * torch.randn(2, 3, 4, 5, dtype=torch.float64)).requires_grad_()
    torch.testing.assert_close(phi_row_mean(scores), plain_phi_row_mean(scores), rtol=1e-12, atol=1e-14)
    assert torch.autograd.gradcheck(phi_row_mean, (scores,))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_in_half_precision_have_its_type_and_are_near(dtype):
    q, k = queries_and_keys(1, 2, 40, 50, 8, dtype=dtype)
    got = torch.autograd.grad(blocked_phi_row_mean(q, k).sum(), (q, k))
    exact = [t.detach().float().requires_grad_() for t in (q, k)]
    expected = torch.autograd.grad(plain_phi_row_mean(exact[0] @ exact[1].transpose(-2, -1)).sum(), exact)
    for one, other in zip(got, expected):
        assert one.dtype == dtype
        torch.testing.assert_close(one.float(), other, rtol=3e-2, atol=3e-2)


def test_torch_accepts_it_as_an_operator():
    q, k = (t.flatten(0, 1).detach().requires_grad_() for t in queries_and_keys(2, 2, 5, 6, 4))
    torch.library.opcheck(torch.ops.csan_mm.phi_row_mean, (q, k, 10))


def test_a_compiled_graph_keeps_it_whole():
    seen = []

    def backend(graph, inputs):
        seen.extend(str(node.target) for node in graph.graph.nodes)  # what Dynamo captured
        return graph

    torch.compiler.reset()
    mean = torch.compile(blocked_phi_row_mean, fullgraph=True, dynamic=True, backend=backend)
    for rows in (5, 8, 13):
        q, k = queries_and_keys(1, 2, rows, rows, 4)
        torch.testing.assert_close(mean(q, k), blocked_phi_row_mean(q, k))
    assert sum("csan_mm.phi_row_mean" in target for target in seen) == 1
    assert not any("matmul" in target for target in seen)


def test_its_products_are_counted_like_the_plain_form():
    q, k = queries_and_keys(2, 3, 7, 9, 4)
    counts = []
    for mean in (blocked_phi_row_mean, lambda q, k: plain_phi_row_mean(q @ k.transpose(-2, -1))):
        with FlopCounterMode(display=False) as counter:
            mean(q, k)
        counts.append(counter.get_total_flops())
    assert counts[0] == counts[1] == 2 * 2 * 3 * 7 * 9 * 4


def test_the_products_of_its_gradients_are_counted():
    """The scores once more, which are not kept, and a product for each of the two gradients."""
    q, k = (part.requires_grad_() for part in queries_and_keys(2, 3, 7, 9, 4))
    mean = blocked_phi_row_mean(q, k).sum()
    with FlopCounterMode(display=False) as counter:
        mean.backward()
    assert counter.get_total_flops() == 3 * 2 * 2 * 3 * 7 * 9 * 4


@pytest.mark.parametrize("bend", [0.05, 0.25, 2.0])
def test_any_bend_comes_from_the_one_the_kernels_know(bend):
    q, k = queries_and_keys(2, 3, 7, 9, 4)
    scores = 2 * q @ k.transpose(-2, -1)
    expected = torch.where(scores > bend, scores, bend * (scores / bend - 1).exp()).mean(-1, keepdim=True)
    torch.testing.assert_close(phi_row_mean(scores, bend), expected)
    torch.testing.assert_close(blocked_phi_row_mean(2 * q, k, 40, bend), expected)
    for got, wanted in zip(
        *(torch.autograd.grad(e.sum(), k, retain_graph=True) for e in (phi_row_mean(scores, bend), expected))
    ):
        torch.testing.assert_close(got, wanted)
