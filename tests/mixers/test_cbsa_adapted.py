"""CBSA's form of a pre-trained ViT's attention: golden numbers, the formulas in loops, nearness to its origin."""

import math
import warnings

import pytest
import torch
from golden import GIVEN, assert_golden, read_golden
from torch import Tensor
from torch.nn.functional import cosine_similarity, relu

from csan_mm.backbones import ViTCSaN
from csan_mm.checkpoint import convert_state_dict
from csan_mm.mixers import CBSA, AdaptedCBSA, LinearAttention, SoftmaxAttention

#: Output of the golden file -> options.
FORMS = {
    "legacy_agent": {"legacy_pooling": True, "contraction": False},
    "legacy_contraction": {"legacy_pooling": True, "contraction": True},
    "patches_agent": {"contraction": False},
    "patches_contraction": {},
}
B, H, C = 2, 2, 8
P = C // H


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("form", FORMS)
@torch.no_grad()
def given_golden_through_the_converter_of_timms_names(form, dtype):
    """The golden file holds one attention: it is put into the file of a ViT with one block."""
    golden = read_golden(GIVEN, "cbsa_adapted_attention")
    width, heads = golden.about["embed_dims"], golden.about["num_heads"]
    arch = {"embed_dims": width, "depth": 1, "num_heads": heads}
    model = ViTCSaN(arch, mixer={"type": "cbsa-adapted", **FORMS[form]}).to(dtype)
    file = model.state_dict() | {f"blocks.0.attn.{name}": value for name, value in golden.state.items()}
    model.load_state_dict(convert_state_dict(file, "timm-vit"))
    got = model.blocks[0].attn(golden.image.to(dtype), golden.about["grid"])
    assert_golden(got, golden.outputs[form])
    for other in set(FORMS) - {form}:
        with pytest.raises(AssertionError, match="differs by"):
            assert_golden(got, golden.outputs[other])


if (GIVEN / "cbsa_adapted_attention.safetensors").is_file():  # an extra; the loops below are the project's own numbers
    test_given_golden_through_the_converter_of_timms_names = given_golden_through_the_converter_of_timms_names


def softmax(scores: list[float]) -> list[float]:
    total = sum(math.exp(score) for score in scores)
    return [math.exp(score) / total for score in scores]


def mixed(weights: list[float], values: Tensor) -> Tensor:
    return sum(weight * value for weight, value in zip(weights, values))


@pytest.mark.parametrize("contraction", [True, False], ids=["contraction", "no-contraction"])
@pytest.mark.parametrize("legacy", [True, False], ids=["legacy", "patches"])
@torch.no_grad()
def test_formulas_token_by_token(contraction, legacy):
    grid, r = (2, 4), P**-0.5
    mixer = AdaptedCBSA(C, H, rep_grid=(1, 2), contraction=contraction, legacy_pooling=legacy).double()
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    x = torch.randn(1, 9, C, dtype=torch.double)
    qkv = mixer.qkv(x[0])
    y = []
    for h in range(H):
        q, k, v = (qkv[:, C * i + P * h : C * i + P * (h + 1)] for i in range(3))
        patches = q[:8] if legacy else q[1:]
        Q = torch.stack([patches[[0, 1, 4, 5]].mean(0), patches[[2, 3, 6, 7]].mean(0)])
        R = torch.stack([mixed(softmax([float(r * a @ key) for key in k]), v) for a in Q])
        if contraction:
            S = Q + R
            R = torch.stack([mixed(softmax([float(r * a @ b) for b in S]), S) for a in S])
        y.append(torch.stack([mixed(softmax([float(r * query @ a) for a in Q]), R) for query in q]))
    torch.testing.assert_close(mixer(x, grid)[0], mixer.proj(torch.cat(y, dim=1)), rtol=1e-10, atol=1e-10)


@torch.no_grad()
def test_it_keeps_the_direction_of_the_attention_it_came_from():
    """Without contraction and from weights of a plain start the output points where the softmax attention's does."""
    torch.manual_seed(0)
    theirs = SoftmaxAttention(64, 4)
    ours = AdaptedCBSA(64, 4, contraction=False)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 197, 64)
    assert cosine_similarity(ours(x, (14, 14)), theirs(x), dim=-1).mean() > 0.9


@torch.no_grad()
def test_linear_comparator_is_the_authors():
    """q = relu(q) + 1e-6, k likewise, out = q (k^T v / N) / (q . mean k + 1e-6)."""
    mixer = LinearAttention(C, H, rotary=False, kernel="relu+eps", added_eps=1e-6).double()
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    x = torch.randn(B, 9, C, dtype=torch.double)
    with torch.no_grad():
        mixer.qkv.bias[:P] -= 6  # all q of a head negative: there both small numbers show
    q, k, v = mixer.queries_keys_values(x)
    q, k = relu(q) + 1e-6, relu(k) + 1e-6
    y = q @ (k.transpose(-2, -1) @ v / 9) / ((q * k.mean(dim=-2, keepdim=True)).sum(-1, keepdim=True) + 1e-6)
    expected = mixer.proj(y.transpose(1, 2).flatten(2))
    torch.testing.assert_close(mixer(x), expected, rtol=1e-9, atol=1e-9)
    mixer.operator.added_eps = 0.0
    assert not torch.allclose(mixer(x), expected, rtol=1e-4)


def test_gradients_reach_every_parameter_under_autocast():
    mixer = AdaptedCBSA(C, H, rep_grid=2)
    x = torch.randn(B, 21, C)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = mixer(x, (4, 5))
    torch.testing.assert_close(y.float(), mixer(x, (4, 5)), rtol=0.1, atol=0.1)
    y.float().square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in mixer.parameters())


@pytest.mark.parametrize("cls", [CBSA, AdaptedCBSA])
def test_more_representatives_than_tokens_are_never_silent(cls):
    assert cls(C, H, window_size=7).rep_grid == (7, 7)
    assert cls(C, H, window_size=12).rep_grid == (8, 8)
    with pytest.raises(
        ValueError, match="rep_grid=8 has more cells than windows of window_size=7 have tokens: take at"
    ):
        cls(C, H, window_size=7, rep_grid=8)
    with pytest.warns(UserWarning, match="8 x 8 representatives are pooled from 7 x 7 tokens"):
        cls(C, H)(torch.randn(1, 49, C), (7, 7))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cls(C, H)(torch.randn(1, 64, C), (8, 8))


def test_wrong_calls_are_named():
    with pytest.raises(ValueError, match=r"AdaptedCBSA needs grid="):
        AdaptedCBSA(C, H)(torch.randn(1, 6, C))
    with pytest.raises(ValueError, match="AdaptedCBSA forms no scores and cannot take mask="):
        AdaptedCBSA(C, H)(torch.randn(1, 6, C), (2, 3), torch.zeros(1, 6, 6))
    with pytest.raises(ValueError, match="rep_grid=0: take one number"):
        AdaptedCBSA(C, H, rep_grid=0)
