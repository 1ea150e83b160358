"""Softmax attention with queries of unit length: its formula in loops, and what that length does not do."""

import pytest
import torch

from csan_mm.mixers import SoftmaxAttention

C, H, N, D = 12, 3, 9, 4


def loud(**options) -> SoftmaxAttention:
    mixer = SoftmaxAttention(C, H, **options).double()
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return mixer


@pytest.mark.parametrize("window", [None, 3], ids=["global", "window"])
@torch.no_grad()
def test_unit_queries_equal_the_formula_in_loops(window):
    mixer, x = loud(unit_queries=True, window_size=window), torch.randn(1, N, C, dtype=torch.float64)
    q, k, v = mixer.qkv(x[0]).chunk(3, dim=-1)
    bias = torch.zeros(H, N, N) if window is None else mixer.score_bias(1, None)[0]
    y = torch.zeros(N, C, dtype=torch.float64)
    for h in range(H):
        part = slice(h * D, (h + 1) * D)
        for i in range(N):
            unit = q[i, part] / float((q[i, part] ** 2).sum()) ** 0.5
            weights = torch.stack([D**-0.5 * unit @ k[j, part] + bias[h, i, j] for j in range(N)]).exp()
            y[i, part] = sum(w * v[j, part] for j, w in enumerate(weights)) / weights.sum()
    torch.testing.assert_close(mixer(x)[0], mixer.proj(y), rtol=1e-10, atol=1e-10)


@torch.no_grad()
def test_the_length_of_a_query_is_lost():
    """Thrice as long queries change plain attention, and not this one."""
    for unit in (False, True):
        mixer, x = loud(unit_queries=unit), torch.randn(2, N, C, dtype=torch.float64)
        before = mixer(x)
        mixer.qkv.weight[:C] *= 3
        mixer.qkv.bias[:C] *= 3
        assert torch.allclose(mixer(x), before, rtol=1e-9) == unit


def test_a_query_of_length_zero_has_finite_gradients():
    mixer = loud(unit_queries=True)
    with torch.no_grad():
        mixer.qkv.weight[:C], mixer.qkv.bias[:C] = 0, 0
    mixer(torch.randn(2, N, C, dtype=torch.float64)).square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in mixer.parameters())
