"""CSaN against a loop implementation of its formulas, and the identities it must keep."""

import math

import pytest
import torch
from torch import Tensor

from csan_mm.mixers import CSaN, SoftmaxAttention, build_mixer

B, N, C, H = 2, 9, 24, 3


def loud(mixer: torch.nn.Module) -> torch.nn.Module:
    """Parameters so large that every term shows."""
    for parameter in mixer.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return mixer.double()


def sigmoid(t: float) -> float:
    return 1 / (1 + math.exp(-t))


def loop_csan(mixer: CSaN, x: Tensor, bias: Tensor | None, kappa: str, granularity: str) -> Tensor:
    """The paper's formulas token by token, for one image x (N, C)."""
    n, c = x.shape
    d, share, b = c // H, mixer.u.out_features // H, mixer.bend
    qkv, u = mixer.qkv(x), mixer.u(x)
    f = (lambda t: t) if kappa == "unbounded" else math.tanh

    def phi(t: float) -> float:
        return t if t > b else b * math.exp(t / b - 1)

    s = torch.zeros(H, n, n, dtype=x.dtype)
    iota = torch.zeros(n, H * share, dtype=x.dtype)
    for h in range(H):
        for i in range(n):
            for j in range(n):
                q_i, k_j = qkv[i, h * d : (h + 1) * d], qkv[j, c + h * d : c + (h + 1) * d]
                s[h, i, j] = d**-0.5 * float(q_i @ k_j) + (0 if bias is None else float(bias[h, i, j]))
            e = sum(phi(float(s[h, i, j])) for j in range(n)) / n
            for m in range(share):
                iota[i, h * share + m] = e * sigmoid(float(u[i, h * share + m]))
    z = mixer.reduce(iota)
    if kappa == "unbounded":
        z = z * torch.sigmoid(mixer.act.proj(z))
    else:
        z = torch.tensor(
            [[0.5 * t * (1 + math.erf(t / math.sqrt(2))) for t in row] for row in z.tolist()], dtype=x.dtype
        )
    temp, magk, ka, kv = mixer.temp(z), mixer.magk(z), mixer.ka(z), mixer.kv(z)
    if mixer.pooled_mu:
        magk = mixer.magk(sum(z) / n).expand(n, -1)
    y = torch.zeros(n, c, dtype=x.dtype)
    for h in range(H):
        for i in range(n):
            logits = [(1 + f(float(temp[i, h]))) * float(s[h, i, j]) for j in range(n)]
            weights = [math.exp(t - max(logits)) for t in logits]
            for m in range(h * d, (h + 1) * d):
                gain = m if granularity == "unit" else h
                public = sum(
                    w / sum(weights) * (1 + f(float(magk[j, h]))) * float(qkv[j, 2 * c + m])
                    for j, w in enumerate(weights)
                )
                y[i, m] = public * (1 + f(float(ka[i, gain]))) + float(qkv[i, 2 * c + m]) * f(float(kv[i, gain]))
    return mixer.proj(y)


@pytest.mark.parametrize("window", [None, 3], ids=["global", "window"])
@pytest.mark.parametrize("granularity", ["unit", "head"])
@pytest.mark.parametrize("kappa", ["unbounded", "bounded"])
@torch.no_grad()
def test_equals_the_formulas_in_loops(kappa, granularity, window):
    mixer = loud(CSaN(C, H, window_size=window, kappa=kappa, granularity=granularity))
    x = torch.randn(B, N, C, dtype=torch.float64)
    bias = None if window is None else mixer.score_bias(B, None)[0]
    expected = torch.stack([loop_csan(mixer, image, bias, kappa, granularity) for image in x])
    torch.testing.assert_close(mixer(x), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("window", [None, 3], ids=["global", "window"])
@pytest.mark.parametrize(
    ("options", "widths"),
    [
        ({"bend": 0.6}, (6, 24)),
        ({"u_reduction": 2}, (12, 24)),
        ({"z_reduction": 1, "u_reduction": 8}, (6, 48)),
        ({"pooled_mu": True}, (6, 24)),
    ],
    ids=["bend", "u", "z", "pooled"],
)
@torch.no_grad()
def test_ablations_equal_the_formulas_in_loops(options, widths, window):
    """With another constant or width the same formulas, and another output."""
    width = C * options.get("u_reduction", 4) // 4 if "z_reduction" in options else C
    mixer = loud(CSaN(width, H, window_size=window, **options))
    assert (mixer.u.out_features, mixer.reduce.out_features) == widths
    x = torch.randn(B, N, width, dtype=torch.float64)
    bias = None if window is None else mixer.score_bias(B, None)[0]
    expected = torch.stack([loop_csan(mixer, image, bias, "unbounded", "unit") for image in x])
    torch.testing.assert_close(mixer(x), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kappa", ["unbounded", "bounded"])
def test_fused_form_equals_the_scored_one(kappa):
    """A bias of zeros forces the scored form: outputs and gradients are those of the fused one."""
    mixer = loud(CSaN(C, H, kappa=kappa))
    x = torch.randn(B, N, C, dtype=torch.float64, requires_grad=True)
    results = []
    for mask in (None, torch.zeros(1, N, N, dtype=torch.float64)):
        y = mixer(x, mask=mask)
        grads = torch.autograd.grad(y.square().sum(), [x, *mixer.parameters()])
        results.append((y, *grads))
    for fused, scored in zip(*results):
        torch.testing.assert_close(fused, scored, rtol=1e-9, atol=1e-9)


def test_gradients_against_finite_differences():
    mixer = loud(CSaN(8, 2, window_size=2))
    x = torch.randn(1, 4, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(mixer, (x,))


@pytest.mark.parametrize("kappa", ["unbounded", "bounded"])
def test_without_a_signal_it_is_softmax_attention(kappa):
    """Zero readouts give tau = mu = kpub = 1 and kpriv = 0: what is left is plain attention."""
    mixer, plain = loud(CSaN(C, H, window_size=3, kappa=kappa)), loud(SoftmaxAttention(C, H, window_size=3))
    for readout in (mixer.temp, mixer.magk, mixer.ka, mixer.kv):
        torch.nn.init.zeros_(readout.weight)
        torch.nn.init.zeros_(readout.bias)
    plain.load_state_dict({name: value for name, value in mixer.state_dict().items() if name in plain.state_dict()})
    x = torch.randn(B, N, C, dtype=torch.float64)
    torch.testing.assert_close(mixer(x), plain(x), rtol=1e-10, atol=1e-10)


def test_masked_pairs_add_nothing_but_count_in_the_mean():
    """Two groups that do not see each other: e is half of what each group alone has."""
    mixer = loud(CSaN(C, H))
    x = torch.randn(1, 8, C, dtype=torch.float64)
    group = torch.arange(8) // 4
    mask = (group[:, None] != group).double()[None] * -100
    q, k, _ = mixer.queries_keys_values(x)
    s = mixer.scale * q @ k.transpose(-2, -1)
    from csan_mm.ops.phi_mean import phi_row_mean

    whole, alone = phi_row_mean(s + mask[:, None]), phi_row_mean(s[:, :, :4, :4])
    torch.testing.assert_close(whole[:, :, :4], alone / 2)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"embed_dims": 10, "num_heads": 3}, "num_heads=3"),
        ({"embed_dims": 6, "num_heads": 3}, "embed_dims=6"),
        ({"embed_dims": 24, "num_heads": 3, "kappa": "bound"}, "kappa='bound'"),
        ({"embed_dims": 24, "num_heads": 3, "granularity": "token"}, "granularity='token'"),
    ],
)
def test_wrong_arguments_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        CSaN(**options)


def test_unknown_mixer_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"mixer='csam' is unknown: take one of .*csan"):
        build_mixer("csam", "bounded", "unit", embed_dims=24, num_heads=3)


def test_options_that_contradict_each_other_are_named():
    with pytest.raises(ValueError, match="pooled_mu=True needs mu, which off="):
        CSaN(32, 2, off=["mu"], pooled_mu=True)
    with pytest.raises(ValueError, match="u_reduction=12: the heads share u, so the width must be a multiple of 24"):
        CSaN(32, 2, u_reduction=12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("window", [None, 3], ids=["global", "window"])
def test_autocast_is_finite_and_near(dtype, window):
    mixer = CSaN(C, H, window_size=window, kappa="bounded")
    x = 5 * torch.randn(B, N, C)
    with torch.autocast("cpu", dtype=dtype):
        y = mixer(x)
    expected = mixer(x)
    assert (y.float() - expected).norm() <= 0.05 * expected.norm()
    y.float().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in mixer.parameters())


def loop_pooled_csan(mixer: CSaN, x: Tensor, S: int) -> Tensor:
    """The formulas with pooled queries for one image x (N, C), bounded kappa, per unit."""
    n, width = x.shape[0], mixer.inner_dims
    d, quarter = width // H, width // 4 // H
    qkv, u = mixer.qkv(x), mixer.u(x)
    q, k, v = qkv[:, :width], qkv[:, width : 2 * width], qkv[:, 2 * width :]
    iota, scores = torch.zeros(n, width // 4, dtype=x.dtype), {}
    for h in range(H):
        for g in range(n // S):
            pooled = torch.stack([q[i, h * d : (h + 1) * d] for i in range(g * S, (g + 1) * S)]).amax(0)
            scores[h, g] = [float(pooled @ k[j, h * d : (h + 1) * d]) * d**-0.5 for j in range(n)]
            e = sum(t if t > 0.25 else 0.25 * math.exp(t / 0.25 - 1) for t in scores[h, g]) / n
            for i in range(g * S, (g + 1) * S):
                for m in range(h * quarter, (h + 1) * quarter):
                    iota[i, m] = e * sigmoid(float(u[i, m]))
    z = torch.nn.functional.gelu(mixer.reduce(iota))
    y = torch.zeros(n // S, width, dtype=x.dtype)
    for g in range(n // S):
        members = range(g * S, (g + 1) * S)
        mean_z = sum(z[i] for i in members) / S
        kpub = 1 + torch.tanh(mixer.ka(mean_z))
        private = sum(v[i] * torch.tanh(mixer.kv(z[i])) for i in members) / S
        for h in range(H):
            tau = 1 + math.tanh(float(mixer.temp(mean_z)[h]))
            weights = torch.tensor([tau * s for s in scores[h, g]], dtype=x.dtype).softmax(0)
            part = slice(h * d, (h + 1) * d)
            for j in range(n):
                y[g, part] += weights[j] * (1 + math.tanh(float(mixer.magk(z[j])[h]))) * v[j, part]
        y[g] = y[g] * kpub + private
    return mixer.proj(y)


@torch.no_grad()
def test_pooled_queries_equal_the_formulas_in_loops():
    mixer = loud(CSaN(12, H, kappa="bounded", out_dims=20, inner_dims=C, query_pool=4))
    x = torch.randn(B, 8, 12, dtype=torch.float64)
    expected = torch.stack([loop_pooled_csan(mixer, image, 4) for image in x])
    torch.testing.assert_close(mixer(x), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("off", "parts"),
    [
        (("tau",), ("temp",)),
        (("mu",), ("magk",)),
        (("kpub",), ("ka",)),
        (("kpriv",), ("kv",)),
        (("tau", "mu", "kpub"), ("temp", "magk", "ka")),
    ],
    ids=str,
)
@pytest.mark.parametrize("kappa", ["unbounded", "bounded"])
def test_a_gain_that_is_off_is_one_and_the_private_path_nothing(off, parts, kappa):
    """The same as a whole CSaN whose layer of this gain gives zeros; the other gains do change the output."""
    whole, without = CSaN(32, 2, kappa=kappa).double(), CSaN(32, 2, kappa=kappa, off=off).double()
    for parameter in whole.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    state = {name: value for name, value in whole.state_dict().items() if name.split(".")[0] not in parts}
    without.load_state_dict(state)
    x = torch.randn(2, 9, 32, dtype=torch.double)
    assert not torch.allclose(without(x), whole(x))
    for part in parts:
        for parameter in getattr(whole, part).parameters():
            torch.nn.init.zeros_(parameter)
    torch.testing.assert_close(without(x), whole(x))
    without(x).square().sum().backward()
    assert all(parameter.grad is not None for parameter in without.parameters())


@pytest.mark.parametrize(
    ("off", "message"),
    [("tau", "off='tau': take a list"), (("kappa",), "take a list of names out of tau, mu, kpub, kpriv")],
    ids=str,
)
def test_gains_that_are_none_are_named(off, message):
    with pytest.raises(ValueError, match=message):
        CSaN(32, 2, off=off)
    with pytest.raises(ValueError, match="leaves plain attention"):
        CSaN(32, 2, off=("tau", "mu", "kpub", "kpriv"))
