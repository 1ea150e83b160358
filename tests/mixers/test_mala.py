"""MALA from the mathematics of its paper (arXiv 2507.00698): row sums, the N x N form, sharpness, range."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import elu, relu

from csan_mm.backbones import ViTCSaN
from csan_mm.backbones.mavit import GatedAttention
from csan_mm.layers.rotary import Rotary2D, rotate
from csan_mm.mixers import MALA
from csan_mm.mixers.linear import KERNELS, LinearOperator
from csan_mm.mixers.mala import MALAOperator

B, H, N, D = 2, 3, 12, 8
GRID = (3, 4)

kernels = pytest.mark.parametrize("kernel", KERNELS)


def heads(*size: int) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v in float64; a positive first channel, since relu makes nothing of a token that is negative throughout."""
    qkv = torch.randn(3, *(size or (B, H, N, D)), dtype=torch.float64)
    qkv[..., 0] = qkv[..., 0].abs() + 0.1
    return tuple(qkv.requires_grad_().unbind(0))


def implied_matrix(operator: LinearOperator, q: Tensor, k: Tensor, rotation: tuple | None = None) -> Tensor:
    """The N x N matrix an operator multiplies v with: what it makes of v = identity, (B, H, N, N)."""
    v = torch.eye(k.shape[-2], dtype=k.dtype).expand(*k.shape[:2], -1, -1)
    return operator(q, k, v, rotation)


def square_form(q: Tensor, k: Tensor, kernel: str, rotation: tuple | None, operator: MALAOperator) -> Tensor:
    """A_ij = beta_i s_ij - gamma_i as the paper writes it, (B, H, N, N), s_ij = d^-0.5 phi(q_i) . phi(k_j) / N."""
    phi = {"elu+1": lambda t: elu(t) + 1, "relu": relu, "exp": torch.exp, "relu+eps": lambda t: relu(t) + 1e-6}[kernel]
    q, k, n = phi(q), phi(k), k.shape[-2]
    plain = q @ k.transpose(-2, -1) / (n * D**0.5)
    s = plain if rotation is None else rotate(q, rotation) @ rotate(k, rotation).transpose(-2, -1) / (n * D**0.5)
    total = (s if operator.rotary_in_z else plain).sum(dim=-1, keepdim=True)
    beta = 1 + 1 / total if operator.use_beta else 1
    gamma = total / n if operator.use_gamma else 0
    if operator.beta is not None:
        beta = operator.beta
    if operator.gamma is not None:
        gamma = operator.gamma / n
    return beta * s - gamma


@kernels
def test_rows_sum_to_one_without_rotation(kernel):
    q, k, _ = heads()
    rows = implied_matrix(MALAOperator(H, D, kernel), q, k).sum(dim=-1)
    torch.testing.assert_close(rows, torch.ones_like(rows), rtol=0, atol=1e-10)


def test_rows_sum_to_one_with_rotation_only_in_the_papers_form():
    q, k, _ = heads()
    rotation = Rotary2D(D)(GRID, q)
    rows = implied_matrix(MALAOperator(H, D, rotary_in_z=True), q, k, rotation).sum(dim=-1)
    torch.testing.assert_close(rows, torch.ones_like(rows), rtol=0, atol=1e-10)
    rows = implied_matrix(MALAOperator(H, D), q, k, rotation).sum(dim=-1)
    assert (rows - 1).abs().max() > 0.1


SWITCHES = {
    "mala": {},
    "no-beta": {"use_beta": False},
    "no-gamma": {"use_gamma": False},
    "neither": {"use_beta": False, "use_gamma": False},
    "learnable": {"learnable": True},
    "learnable-beta": {"learnable": True, "use_gamma": False},
    "learnable-gamma": {"learnable": True, "use_beta": False},
    "z-behind": {"rotary_in_z": True},
}


@kernels
@pytest.mark.parametrize("rotary", [False, True], ids=["plain", "rotary"])
@pytest.mark.parametrize("options", SWITCHES.values(), ids=SWITCHES)
def test_linear_form_equals_the_square_one(options, rotary, kernel):
    q, k, v = heads()
    operator = MALAOperator(H, D, kernel, **options).double()
    for parameter in operator.parameters():
        torch.nn.init.normal_(parameter)
    rotation = Rotary2D(D)(GRID, q) if rotary else None
    linear, square = operator(q, k, v, rotation), square_form(q, k, kernel, rotation, operator) @ v
    torch.testing.assert_close(linear, square, rtol=1e-9, atol=1e-9)
    wanted = [q, k, v, *operator.parameters()]
    for one, other in zip(*(torch.autograd.grad(y.square().sum(), wanted) for y in (linear, square))):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)


def test_equals_the_published_order_of_operations():
    """kv first, z before the rotation, the mean of v subtracted at the end; its 1e-6 beside z is not visible here."""
    q, k, v = heads()
    rotation, r = Rotary2D(D)(GRID, q), D**-0.5
    phi_q, phi_k = elu(q) + 1, elu(k) + 1
    z = r * phi_q @ phi_k.mean(dim=-2, keepdim=True).transpose(-2, -1)
    phi_q, phi_k = rotate(phi_q, rotation), rotate(phi_k, rotation)
    kv = (phi_k * (r / N) ** 0.5).transpose(-2, -1) @ (v * (r / N) ** 0.5)
    expected = phi_q @ kv * (1 + 1 / (z + 1e-6)) - z * v.mean(dim=-2, keepdim=True)
    torch.testing.assert_close(MALAOperator(H, D)(q, k, v, rotation), expected, rtol=1e-6, atol=1e-6)


def test_gradients_against_finite_differences():
    operator, rotation = MALAOperator(2, 4).double(), Rotary2D(4)((2, 3), torch.zeros(1, dtype=torch.float64))
    assert torch.autograd.gradcheck(lambda *qkv: operator(*qkv, rotation), heads(1, 2, 6, 4))


def test_a_longer_query_sharpens_the_row_of_mala_alone():
    """relu(t q) = t relu(q): the spread of a row of MALA grows with t, that of linear attention stays."""
    q, k, _ = heads()
    spreads = {}
    for name, operator in {"mala": MALAOperator(H, D, "relu"), "linear": LinearOperator(H, D, "relu")}.items():
        rows = [implied_matrix(operator, t * q, k) for t in (0.5, 1, 2, 4, 8)]
        spreads[name] = torch.stack([row.amax(dim=-1) - row.amin(dim=-1) for row in rows])  # (5, B, H, N)
    assert (spreads["mala"].diff(dim=0) > 1e-3).all()
    torch.testing.assert_close(spreads["linear"], spreads["linear"][:1].expand(5, -1, -1, -1))


def test_a_longer_query_sharpens_under_the_default_kernel_too():
    q, k, _ = heads()
    q = q.abs()
    rows = torch.stack([implied_matrix(MALAOperator(H, D), t * q, k).amax(dim=-1) for t in (1, 2, 4, 8)])
    assert (rows.diff(dim=0) > 0).all()


def test_learnable_ones_start_where_zero_queries_and_keys_have_them():
    q, k = torch.zeros(2, B, H, N, D, dtype=torch.float64).unbind(0)
    learnt, computed = MALAOperator(H, D, learnable=True).double(), MALAOperator(H, D)
    torch.testing.assert_close(implied_matrix(learnt, q, k), implied_matrix(computed, q, k))


@pytest.mark.parametrize("scale", [1, 5])
def test_a_constant_comes_back_constant_at_67200_tokens(scale):
    q, k = scale * torch.randn(2, 1, 1, 67_200, 8)
    v = torch.linspace(-3, 3, 8).expand(1, 1, 67_200, -1)
    torch.testing.assert_close(MALAOperator(1, 8)(q, k, v), v, rtol=1e-4, atol=1e-4)


INPUTS = {"x1": (1.0, 0.0), "x30": (30.0, 0.0), "near-zero": (1e-4, 0.0), "phi-near-zero": (1e-3, -12.0)}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("grid", [(56, 56), (200, 336)], ids=["3136", "67200"])
@pytest.mark.parametrize(("scale", "shift"), INPUTS.values(), ids=INPUTS)
def test_finite_and_near_under_autocast(dtype, grid, scale, shift):
    """q and k scaled and shifted (phi(-12) = 6e-6); v scaled as q where that makes it larger."""
    tokens = grid[0] * grid[1]
    q, k, v = torch.randn(3, 1, 1, tokens, 8)
    qkv = [t.to(dtype).requires_grad_() for t in (scale * q + shift, scale * k + shift, max(scale, 1) * v)]
    operator, rotation = MALAOperator(1, 8), Rotary2D(8)(grid, q)
    with torch.autocast("cpu", dtype=dtype):
        y = operator(*qkv, rotation)
    (y.float() * torch.randn(tokens, 8)).sum().backward()
    assert y.dtype == dtype
    assert y.isfinite().all()
    assert all(t.grad.isfinite().all() for t in qkv)
    exact = operator(*(t.detach().double() for t in qkv), rotation)
    torch.testing.assert_close(y.double(), exact, rtol=0.02, atol=max(0.02 * exact.abs().max().item(), 1e-6))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("scale", [1, 30], ids=["x1", "x30"])
def test_the_mixer_is_finite_under_autocast(dtype, scale):
    mixer, x = MALA(8, 2), scale * torch.randn(1, 67_200, 8)
    with torch.autocast("cpu", dtype=dtype):
        y = mixer(x, (200, 336))
    y.float().square().mean().backward()
    assert y.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in mixer.parameters())


def test_a_mixer_in_a_half_type_keeps_it():
    mixer, x = MALA(16, 2).to(torch.bfloat16), torch.randn(1, 12, 16)
    assert mixer(x.to(torch.bfloat16), GRID).dtype == torch.bfloat16


def test_nothing_to_learn_is_named():
    with pytest.raises(ValueError, match="learnable=True learns nothing"):
        MALA(16, 2, use_beta=False, use_gamma=False, learnable=True)


@pytest.mark.parametrize("prefix", [0, 1], ids=["patches", "class-token"])
@torch.no_grad()
def test_with_gate_and_local_enhancement_it_is_the_attention_of_mavit(prefix):
    grid, width = (3, 5), 16
    ours = MALA(width, 2, gate=True, local_enhancement=True).double()
    theirs = GatedAttention(width, 2, {"type": "mala"}).double()
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    theirs.load_state_dict(
        {
            "qkvo.weight": torch.cat([ours.qkv.weight, ours.gate.weight])[..., None, None],
            "qkvo.bias": torch.cat([ours.qkv.bias, ours.gate.bias]),
            "lepe.weight": ours.lepe.weight,
            "lepe.bias": ours.lepe.bias,
            "proj.weight": ours.proj.weight[..., None, None],
            "proj.bias": ours.proj.bias,
        }
    )
    x = torch.randn(2, prefix + 15, width, dtype=torch.double)
    if not prefix:
        expected = theirs(x.unflatten(1, grid), ours.rotary(grid, x)).flatten(1, 2)
        torch.testing.assert_close(ours(x, grid), expected, rtol=1e-10, atol=1e-10)
        return
    q, k, v = ours.queries_keys_values(x)
    y = ours.operator(q, k, v, ours.rotary(grid, x, 1)).transpose(1, 2).flatten(2)
    v = v.transpose(1, 2).flatten(2)
    y[:, 1:] += theirs.lepe(v[:, 1:].unflatten(1, grid).permute(0, 3, 1, 2)).flatten(2).transpose(1, 2)
    torch.testing.assert_close(ours(x, grid), ours.proj(y * ours.gate(x)), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "ffn", "count"),
    [
        ({}, "mlp", 5_717_416),
        ({"gate": True}, "mlp", 6_162_088),
        ({"local_enhancement": True}, "mlp", 5_777_320),
        ({"gate": True, "local_enhancement": True}, "mlp", 6_221_992),
        ({"gate": True, "local_enhancement": True}, "conv-mlp", 6_314_152),  # the paper's 6.3 M
    ],
    ids=str,
)
def test_parameters_of_deit_t_with_a_classifier(options, ffn, count):
    with torch.device("meta"):
        backbone = ViTCSaN("tiny", mixer={"type": "mala", **options}, ffn=ffn, out_type="cls_token")
    assert sum(p.numel() for p in backbone.parameters()) + 193_000 == count
