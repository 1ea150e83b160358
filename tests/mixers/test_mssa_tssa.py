"""MSSA and TSSA: the formulas in loops."""

import math

import pytest
import torch
from torch import Tensor

from csan_mm.mixers import MSSA, TSSA, SoftmaxAttention, build_mixer

B, N, H, C = 2, 7, 3, 12
P = C // H
both = pytest.mark.parametrize("mixer", ["mssa", "tssa"])


def loud(mixer: torch.nn.Module) -> torch.nn.Module:
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return mixer.double()


def heads(mixer: torch.nn.Module, x: Tensor) -> list[Tensor]:
    return [x @ mixer.proj.weight[h * P : (h + 1) * P].T for h in range(H)]


@torch.no_grad()
def test_mssa_equals_the_formula_in_loops():
    mixer, x = loud(MSSA(C, H)), torch.randn(B, N, C, dtype=torch.double)
    for image, got in zip(x, mixer(x)):
        y = torch.zeros(N, C, dtype=torch.double)
        for h, w in enumerate(heads(mixer, image)):
            for i in range(N):
                weights = [math.exp(float(w[i] @ w[j]) / math.sqrt(P)) for j in range(N)]
                y[i, h * P : (h + 1) * P] = sum(a * w[j] for j, a in enumerate(weights)) / sum(weights)
        torch.testing.assert_close(got, y @ mixer.to_out.weight.T + mixer.to_out.bias, rtol=1e-10, atol=1e-10)


@torch.no_grad()
def test_mssa_in_windows_is_swins_attention_with_tied_projections():
    mixer, plain = loud(MSSA(C, H, window_size=3)), SoftmaxAttention(C, H, window_size=3, qkv_bias=False).double()
    own = mixer.state_dict()
    plain.load_state_dict(
        {
            "qkv.weight": own["proj.weight"].repeat(3, 1),
            "proj.weight": own["to_out.weight"],
            "proj.bias": own["to_out.bias"],
            "relative_position_bias_table": own["relative_position_bias_table"],
        }
    )
    x = torch.randn(2 * B, 9, C, dtype=torch.double)
    mask = torch.where(torch.rand(2, 9, 9) < 0.3, -100.0, 0.0).double()
    torch.testing.assert_close(mixer(x, (3, 3), mask), plain(x, (3, 3), mask))


@torch.no_grad()
def test_tssa_equals_the_formula_in_loops():
    mixer, x = loud(TSSA(C, H)), torch.randn(B, N, C, dtype=torch.double)
    for image, got in zip(x, mixer(x)):
        w = heads(mixer, image)
        energy = [
            [
                float(mixer.temp[h]) * sum(float(w[h][n, p]) ** 2 / float(w[h][:, p].norm()) ** 2 for p in range(P))
                for n in range(N)
            ]
            for h in range(H)
        ]
        Pi = [
            [math.exp(energy[h][n]) / sum(math.exp(energy[g][n]) for g in range(H)) for n in range(N)] for h in range(H)
        ]
        y = torch.zeros(N, C, dtype=torch.double)
        for h in range(H):
            for p in range(P):
                dots = sum(Pi[h][n] / (sum(Pi[h]) + 1e-8) * float(w[h][n, p]) ** 2 for n in range(N))
                for n in range(N):
                    y[n, h * P + p] = -float(w[h][n, p]) * Pi[h][n] / (1 + dots)
        torch.testing.assert_close(got, y @ mixer.to_out.weight.T + mixer.to_out.bias, rtol=1e-10, atol=1e-10)


@both
def test_gradients(mixer):
    module = loud(build_mixer(mixer, embed_dims=C, num_heads=H))
    x = torch.randn(1, 5, C, dtype=torch.double, requires_grad=True)
    names = [name for name, _ in module.named_parameters()]
    values = tuple(p.detach().clone().requires_grad_() for p in module.parameters())
    assert torch.autograd.gradcheck(
        lambda x, *v: torch.func.functional_call(module, dict(zip(names, v)), (x,)), (x, *values)
    )


@both
def test_autocast_is_finite_and_near(mixer):
    """Large activations: in float16 the squares of TSSA would overflow."""
    module = build_mixer(mixer, embed_dims=C, num_heads=H)
    x = 400 * torch.randn(B, N, C)
    with torch.autocast("cpu", dtype=torch.float16):
        y = module(x)
    torch.testing.assert_close(y.float(), module(x), rtol=0.1, atol=1.0)
    y.float().sum().backward()
    assert all(p.grad.isfinite().all() for p in module.parameters())


@both
def test_wider_inside(mixer):
    module = build_mixer(mixer, embed_dims=C, num_heads=H, inner_dims=30)
    assert module.proj.weight.shape == (30, C)
    assert module(torch.randn(B, N, C)).shape == (B, N, C)


@both
def test_bias_is_refused_and_mask_only_by_the_one_without_scores(mixer):
    with pytest.raises(ValueError, match="qkv_bias=True: the one projection of"):
        build_mixer(mixer, embed_dims=C, num_heads=H, qkv_bias=True)
    module = build_mixer(mixer, embed_dims=C, num_heads=H, qkv_bias=None)
    if not module.has_scores:
        with pytest.raises(ValueError, match="TSSA forms no scores"):
            module(torch.randn(1, N, C), mask=torch.zeros(1, N, N))
