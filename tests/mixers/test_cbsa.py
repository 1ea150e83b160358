"""CBSA: the formulas in loops, and the attentions that are special cases of it."""

import math

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from csan_mm.mixers import CBSA, MSSA, build_mixer
from csan_mm.mixers.representatives import principal_directions

B, H, C = 2, 3, 12
P = C // H
KINDS = {
    "pooled": {},
    "pooled-3x2": {"rep_grid": (3, 2)},
    "legacy": {"legacy_pooling": True, "rep_grid": 2},
    "no-contraction": {"contraction": False},
    "learned": {"representatives": "learned", "rep_grid": (2, 3)},
    "tokens": {"representatives": "tokens"},
    "channels": {"representatives": "channels"},
    "principal": {"representatives": "principal"},
}
#: Gradients do not run through principal directions, so a finite difference, which moves them, cannot be compared.
DIFFERENTIABLE = {name: options for name, options in KINDS.items() if name != "principal"}
kinds = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)


def cbsa(**options) -> CBSA:
    mixer = CBSA(C, H, **options).double()
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return mixer


def heads(mixer: CBSA, x: Tensor) -> Tensor:
    """w of one image x (N, C), (H, N, p)."""
    return torch.stack([x @ mixer.proj.weight[h * P : (h + 1) * P].T for h in range(H)])


def softmax(scores: list[float]) -> list[float]:
    total = sum(math.exp(score) for score in scores)
    return [math.exp(score) / total for score in scores]


def in_loops(mixer: CBSA, x: Tensor, start: Tensor) -> Tensor:
    """The formulas for one image x (N, C) and representatives (H, m, p), scalar by scalar."""
    y = torch.zeros(x.shape[0], C, dtype=x.dtype)
    for h, (w, rep) in enumerate(zip(heads(mixer, x), start)):
        A = [softmax([float(r @ token) * P**-0.5 for token in w]) for r in rep]
        gain = float(mixer.step_rep[h])
        rep = [r + gain * sum(a * token for a, token in zip(row, w)) for r, row in zip(rep, A)]
        if mixer.contraction:
            S = [softmax([float(r @ other) * P**-0.5 for other in rep]) for r in rep]
            rep = [sum(s * other for s, other in zip(row, rep)) for row in S]
        for i in range(x.shape[0]):
            part = sum(row[i] * r for row, r in zip(A, rep))
            y[i, h * P : (h + 1) * P] = float(mixer.step_x[h]) * part
    return y @ mixer.to_out.weight.T + mixer.to_out.bias


def pooled(mixer: CBSA, x: Tensor, grid: tuple[int, int], first: int) -> Tensor:
    """Means over the cells of a coarse grid, in loops: (H, m, p)."""
    w, cells = heads(mixer, x)[:, first:], []
    for i in range(mixer.rep_grid[0]):
        for j in range(mixer.rep_grid[1]):
            (y0, y1), (x0, x1) = (
                (k * side // n, math.ceil((k + 1) * side / n))
                for k, side, n in zip((i, j), grid, mixer.rep_grid, strict=True)
            )
            members = [r * grid[1] + c for r in range(y0, y1) for c in range(x0, x1)]
            cells.append(sum(w[:, k] for k in members) / len(members))
    return torch.stack(cells, dim=1)


@pytest.mark.parametrize("contraction", [True, False], ids=["contraction", "no-contraction"])
@pytest.mark.parametrize("prefix", [0, 1, 3], ids=["no-prefix", "class-token", "registers"])
@torch.no_grad()
def test_pooled_from_the_patches_on_their_own_grid(prefix, contraction):
    grid = (3, 7)
    mixer = cbsa(rep_grid=(2, 3), contraction=contraction)
    x = torch.randn(B, prefix + 21, C, dtype=torch.double)
    expected = torch.stack([in_loops(mixer, image, pooled(mixer, image, grid, prefix)) for image in x])
    torch.testing.assert_close(mixer(x, grid), expected, rtol=1e-10, atol=1e-10)


@torch.no_grad()
def test_legacy_pooling_takes_the_class_token_in_and_the_last_patch_out():
    grid = (4, 4)
    mixer = cbsa(rep_grid=2, legacy_pooling=True)
    x = torch.randn(B, 17, C, dtype=torch.double)
    expected = torch.stack([in_loops(mixer, image, pooled(mixer, image[:-1], grid, 0)) for image in x])
    torch.testing.assert_close(mixer(x, grid), expected, rtol=1e-10, atol=1e-10)


@torch.no_grad()
def test_learned_representatives():
    mixer = cbsa(representatives="learned", rep_grid=(2, 3))
    assert mixer.reps.shape == (H, 6, P)
    x = torch.randn(B, 8, C, dtype=torch.double)
    expected = torch.stack([in_loops(mixer, image, mixer.reps) for image in x])
    torch.testing.assert_close(mixer(x), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("step", [0.0, 0.7], ids=["no-extraction", "extraction"])
@torch.no_grad()
def test_tokens_as_their_own_representatives_are_mssa_up_to_the_step_sizes(step):
    """With step_rep = s the tokens are (1 + s) w: MSSA of a projection (1 + s) times as large, times step_x."""
    mixer, mssa = cbsa(representatives="tokens"), MSSA(C, H).double()
    mixer.step_rep.fill_(step)
    mixer.to_out.bias.zero_()
    mssa.load_state_dict({k: v for k, v in mixer.state_dict().items() if not k.startswith("step")})
    mssa.proj.weight.mul_(1 + step)
    mssa.to_out.weight.mul_(mixer.step_x.repeat_interleave(P, dim=0).flatten())
    x = torch.randn(B, 9, C, dtype=torch.double)
    torch.testing.assert_close(mixer(x), mssa(x), rtol=1e-10, atol=1e-10)


@torch.no_grad()
def test_without_contraction_it_is_agent_attention():
    """Agents gather by softmax attention with themselves as queries; tokens hear them through the same scores."""
    grid = (4, 5)
    mixer = cbsa(rep_grid=(2, 2), contraction=False)
    x = torch.randn(1, 20, C, dtype=torch.double)
    w = heads(mixer, x[0])
    agents = pooled(mixer, x[0], grid, 0)
    gathered = torch.nn.functional.scaled_dot_product_attention(agents, w, w)
    heard = torch.stack([(a @ t.T * P**-0.5).softmax(-1).T for a, t in zip(agents, w)])  # (H, N, m)
    y = mixer.step_x * (heard @ (agents + mixer.step_rep * gathered))
    expected = mixer.to_out(y.transpose(0, 1).flatten(1))
    torch.testing.assert_close(mixer(x, grid)[0], expected, rtol=1e-10, atol=1e-10)


def linear_attention(phi: Tensor, v: Tensor, offset: Tensor, gain: float) -> Tensor:
    """Linear attention with features phi (N, m) for queries and keys, values v, its state (m, p) starting from an offset."""
    state = offset.clone()
    for feature, value in zip(phi, v):
        state += gain * torch.outer(feature, value)
    return torch.stack([feature @ state for feature in phi])


@torch.no_grad()
def test_long_orthogonal_representatives_give_linear_attention():
    mixer = cbsa(representatives="learned", rep_grid=(1, P))
    for rep in mixer.reps:
        rep.copy_(40 * torch.linalg.qr(torch.randn(P, P, dtype=torch.double)).Q)
    x = 0.2 * torch.randn(1, 8, C, dtype=torch.double)
    y = []
    for h, w in enumerate(heads(mixer, x[0])):
        phi = (w @ mixer.reps[h].T * P**-0.5).softmax(dim=0)
        y.append(mixer.step_x[h] * linear_attention(phi, w, mixer.reps[h], float(mixer.step_rep[h])))
    expected = mixer.to_out(torch.cat(y, dim=1))
    torch.testing.assert_close(mixer(x)[0], expected, rtol=1e-9, atol=1e-9)


@torch.no_grad()
def test_fixed_representatives_give_channel_attention():
    """out = s(w) G with s the softmax of each channel over the tokens, and G (p x p) made from the channels' products s^T w."""
    mixer = cbsa(representatives="channels")
    x = torch.randn(1, 8, C, dtype=torch.double)
    y = []
    for h, w in enumerate(heads(mixer, x[0])):
        s = (w * P**-0.5).softmax(dim=0)
        G = torch.eye(P, dtype=torch.double)
        for a in range(P):
            for b in range(P):
                G[a, b] += float(mixer.step_rep[h]) * float(s[:, a] @ w[:, b])
        G = (G @ G.T * P**-0.5).softmax(dim=1) @ G
        y.append(mixer.step_x[h] * (s @ G))
    expected = mixer.to_out(torch.cat(y, dim=1))
    torch.testing.assert_close(mixer(x)[0], expected, rtol=1e-10, atol=1e-10)


def principal(w: Tensor) -> Tensor:
    """Principal directions of tokens (N, p) by deflation: power iteration on w^T w, one direction after the other."""
    gram, axes = w.T @ w, []
    for _ in range(w.shape[1]):
        v = torch.ones(w.shape[1], dtype=w.dtype)
        for _ in range(2000):
            v = gram @ v
            v /= v.norm()
        gram = gram - (v @ gram @ v) * torch.outer(v, v)
        axes.append(-v if v @ w.mean(dim=0) < 0 else v)
    return torch.stack(axes)


@torch.no_grad()
def test_principal_directions():
    mixer = cbsa(representatives="principal")
    x = torch.randn(B, 9, C, dtype=torch.double)
    starts = [torch.stack([principal(w) for w in heads(mixer, image)]) for image in x]
    torch.testing.assert_close(mixer.start(mixer.split_heads(mixer.proj(x)), None), torch.stack(starts))
    expected = torch.stack([in_loops(mixer, image, start) for image, start in zip(x, starts)])
    torch.testing.assert_close(mixer(x), expected)


@torch.no_grad()
def test_principal_directions_turn_with_the_tokens():
    w = torch.randn(1, 1, 9, P, dtype=torch.double)
    turn = torch.linalg.qr(torch.randn(P, P, dtype=torch.double)).Q
    torch.testing.assert_close(principal_directions(w @ turn), principal_directions(w) @ turn)
    axes = principal_directions(w)[0, 0]
    torch.testing.assert_close(axes @ axes.T, torch.eye(P, dtype=torch.double))


def test_gradients_with_principal_directions_are_those_of_fixed_representatives():
    mixer, fixed = cbsa(representatives="principal"), cbsa(representatives="learned", rep_grid=(1, P))
    x = torch.randn(1, 7, C, dtype=torch.double, requires_grad=True)
    fixed.load_state_dict(
        {**mixer.state_dict(), "reps": mixer.start(mixer.split_heads(mixer.proj(x)), None)[0].detach()}
    )
    gradients = [torch.autograd.grad((m(x) * torch.arange(C)).sum(), (x, m.proj.weight)) for m in (mixer, fixed)]
    for found, expected in zip(*gradients):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("options", DIFFERENTIABLE.values(), ids=DIFFERENTIABLE)
def test_gradients(options):
    mixer = cbsa(**options)
    x = torch.randn(1, 7, C, dtype=torch.double, requires_grad=True)
    parameters = tuple(p.detach().clone().requires_grad_() for p in mixer.parameters())
    names = [name for name, _ in mixer.named_parameters()]

    def run(x: Tensor, *values: Tensor) -> Tensor:
        return torch.func.functional_call(mixer, dict(zip(names, values)), (x, (2, 3)))

    assert torch.autograd.gradcheck(run, (x, *parameters))


@kinds
def test_every_parameter_gets_a_gradient_under_autocast(options):
    mixer = CBSA(C, H, **options)
    x = 2 * torch.randn(B, 31, C)
    with torch.autocast("cpu", dtype=torch.float16):
        y = mixer(x, (5, 6))
    torch.testing.assert_close(y.float(), mixer(x, (5, 6)), rtol=0.1, atol=0.1)
    y.float().square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in mixer.parameters())


def flops(mixer: str | dict, rows: int) -> int:
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        build_mixer(mixer, embed_dims=64, num_heads=2)(torch.randn(1, rows * 32, 64), (rows, 32))
    return counter.get_total_flops()


@pytest.mark.parametrize("options", [{}, {"representatives": "learned"}, {"contraction": False}], ids=str)
def test_cost_is_linear_in_the_tokens(options):
    one, two, four = (flops({"type": "cbsa", **options}, rows) for rows in (32, 64, 128))
    assert four - two == 2 * (two - one)
    assert two < 2 * one + 1  # nothing but the contraction of m representatives is left at N = 0


def test_cost_of_mssa_is_not():
    one, two, four = (flops("mssa", rows) for rows in (32, 64, 128))
    assert four - two > 3 * (two - one)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"representatives": "pooledd"}, "representatives='pooledd' is unknown: take one of pooled, learned"),
        ({"rep_grid": 0}, "rep_grid=0: take one number of cells"),
        ({"rep_grid": (2, 3, 4)}, r"rep_grid=\(2, 3, 4\): take"),
        ({"representatives": "tokens", "rep_grid": 4}, "rep_grid=4: the number of 'tokens' is given"),
        ({"representatives": "principal", "rep_grid": 4}, "rep_grid=4: the number of 'principal' is given"),
        ({"representatives": "learned", "legacy_pooling": True}, "legacy_pooling=True pools"),
        ({"qkv_bias": True}, "qkv_bias=True: the one projection of CBSA has no bias"),
        ({"num_heads": 5}, "num_heads=5 does not divide"),
        ({"qk_norm": True}, "mixer='cbsa' has no option qk_norm: it takes embed_dims, num_heads"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        build_mixer("cbsa", **{"embed_dims": C, "num_heads": H, **options})


def test_wrong_calls_are_named():
    x = torch.randn(1, 6, C)
    with pytest.raises(ValueError, match=r"CBSA needs grid=, the \(H, W\) of its 6 tokens"):
        CBSA(C, H)(x)
    with pytest.raises(ValueError, match=r"grid=\(2, 4\) has more cells"):
        CBSA(C, H)(x, (2, 4))
    with pytest.raises(ValueError, match="CBSA forms no scores and cannot take mask="):
        CBSA(C, H)(x, (2, 3), torch.zeros(1, 6, 6))
