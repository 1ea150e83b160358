"""Linear attention against its N x N form, and linear mixers inside Swin and ViT."""

import pytest
import torch
from torch import Tensor

from csan_mm.backbones import SwinCSaN, ViTCSaN
from csan_mm.layers.rotary import Rotary2D, rotate
from csan_mm.mixers import MALA, LinearAttention, build_mixer
from csan_mm.mixers.linear import KERNELS, LinearOperator, safe_inverse

B, H, N, D = 2, 3, 12, 8
GRID = (3, 4)
linear_mixers = pytest.mark.parametrize("mixer", ["linear", "mala"])


def heads(*size: int) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v in float64; a positive first channel, since relu makes nothing of a token that is negative throughout."""
    qkv = torch.randn(3, *(size or (B, H, N, D)), dtype=torch.float64)
    qkv[..., 0] = qkv[..., 0].abs() + 0.1
    return tuple(qkv.requires_grad_().unbind(0))


def attention_matrix(q: Tensor, k: Tensor, kernel: str, rotation: tuple | None, rotary_in_z: bool) -> Tensor:
    """phi(q_i) . phi(k_j) over its row sum, (B, H, N, N), with the row sum of the rotated or the unrotated products."""
    q, k = KERNELS[kernel](q), KERNELS[kernel](k)
    plain = q @ k.transpose(-2, -1)
    turned = plain if rotation is None else rotate(q, rotation) @ rotate(k, rotation).transpose(-2, -1)
    return turned / (turned if rotary_in_z else plain).sum(dim=-1, keepdim=True)


@pytest.mark.parametrize("rotary", ["none", "z before", "z behind"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_its_square_form(kernel, rotary):
    q, k, v = heads()
    rotation = None if rotary == "none" else Rotary2D(D)(GRID, q)
    behind = rotary == "z behind"
    y = LinearOperator(H, D, kernel, rotary_in_z=behind)(q, k, v, rotation)
    expected = attention_matrix(q, k, kernel, rotation, behind) @ v
    torch.testing.assert_close(y, expected, rtol=1e-9, atol=1e-9)
    for one, other in zip(*(torch.autograd.grad(out.square().sum(), [q, k, v]) for out in (y, expected))):
        # Behind the rotation a normaliser may be near 0, which makes gradients large and rounding with them.
        assert (one - other).abs().max() <= 1e-8 * max(1, other.abs().max())


def test_the_length_of_q_changes_nothing():
    q, k, v = heads()
    operator = LinearOperator(H, D, "relu")  # relu(t q) = t relu(q)
    torch.testing.assert_close(operator(7 * q, k, v), operator(q, k, v), rtol=1e-10, atol=1e-10)


def test_inverse_of_a_small_normaliser():
    z = torch.tensor([2.0, 1e-9, 0.0, -1e-9, -0.5], requires_grad=True)
    inverse = safe_inverse(z)
    torch.testing.assert_close(inverse, torch.tensor([0.5, 1e6, 1e6, -1e6, -2.0]))
    inverse.sum().backward()
    torch.testing.assert_close(z.grad, torch.tensor([-0.25, 0.0, 0.0, 0.0, -4.0]))


@linear_mixers
def test_tokens_in_front_of_the_grid_do_not_turn(mixer):
    module = build_mixer(mixer, "bounded", "unit", embed_dims=16, num_heads=2)
    x = torch.randn(2, 2 + 12, 16)
    with pytest.raises(ValueError, match=r"grid=\(3, 5\) has more cells than there are tokens \(14\)"):
        module(x, (3, 5))
    with pytest.raises(ValueError, match="needs grid="):
        module(x)
    q, k, v = module.queries_keys_values(x)
    rotation = module.rotary((3, 4), x, 2)
    y = module.operator(q, k, v, rotation).transpose(1, 2).flatten(2)
    torch.testing.assert_close(module(x, (3, 4)), module.proj(y))


@linear_mixers
def test_without_rotation_the_order_of_tokens_is_unknown(mixer):
    options = {"type": mixer, "rotary": False}
    module = build_mixer(options, "bounded", "unit", embed_dims=16, num_heads=2).double()
    x, order = torch.randn(1, 12, 16, dtype=torch.float64), torch.randperm(12)
    torch.testing.assert_close(module(x[:, order]), module(x)[:, order])
    turned = build_mixer(mixer, "bounded", "unit", embed_dims=16, num_heads=2).double()
    assert not torch.allclose(turned(x[:, order], GRID), turned(x, GRID)[:, order])


@linear_mixers
def test_a_mask_is_refused(mixer):
    module = build_mixer(mixer, "bounded", "unit", embed_dims=16, num_heads=2, window_size=2)
    with pytest.raises(ValueError, match=r"cannot take mask=: do not shift its windows"):
        module(torch.randn(4, 4, 16), (2, 2), torch.zeros(4, 4, 4))


def test_query_key_norm():
    module = LinearAttention(16, 2, qk_norm=True)
    q, k, _ = module.queries_keys_values(torch.randn(1, 12, 16))
    for normed in (q, k):
        torch.testing.assert_close(normed.mean(dim=-1), torch.zeros(1, 2, 12), rtol=0, atol=1e-5)


@linear_mixers
def test_another_width_within(mixer):
    module = build_mixer(mixer, "bounded", "unit", embed_dims=16, num_heads=4, inner_dims=32)
    assert module(torch.randn(2, 12, 16), GRID).shape == (2, 12, 16)
    assert module.operator.scale == (32 / 4) ** -0.5


@linear_mixers
@torch.no_grad()
def test_swin_does_not_shift_their_windows(mixer):
    """A change in one 4x4 window of the map stays there; softmax attention, which can mask, carries it on."""
    arch = {"embed_dims": 16, "depths": (2,), "num_heads": (2,)}
    image = torch.randn(1, 3, 32, 32)
    changed = image.clone()
    changed[..., :16, :16] += 1
    reach = {}
    for name in (mixer, "softmax"):
        model = SwinCSaN(arch, mixer=name, window_size=4, out_indices=(0,), drop_path_rate=0.0).eval()
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.2)
        reach[name] = (model(changed)[0] - model(image)[0]).abs().sum(dim=1)[0] > 0  # (8, 8)
        assert reach[name][:4, :4].all()
    assert not reach[mixer][4:].any()
    assert not reach[mixer][:, 4:].any()
    assert reach["softmax"][4:].any()


@linear_mixers
def test_in_swin_there_is_no_position_bias(mixer):
    model = SwinCSaN({"embed_dims": 16, "depths": (1, 1), "num_heads": (2, 4)}, mixer=mixer, out_indices=(0, 1))
    assert not any("relative_position" in name for name in model.state_dict())
    sum(y.square().mean() for y in model(torch.randn(1, 3, 50, 70))).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@linear_mixers
@pytest.mark.parametrize("options", [{}, {"window_size": 3, "with_cls_token": False}], ids=["global", "windows"])
def test_in_vit_at_another_size(mixer, options):
    arch = {"embed_dims": 16, "depth": 2, "num_heads": 2}
    model = ViTCSaN(arch, mixer=mixer, img_size=32, patch_size=8, **options)
    y = model(torch.randn(1, 3, 37, 61))[0]
    assert y.shape == (1, 16, 5, 8)
    y.square().mean().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"embed_dims": 10, "num_heads": 3}, "num_heads=3"),
        ({"embed_dims": 12, "num_heads": 2}, "head_dims=6"),
        (
            {"embed_dims": 16, "num_heads": 2, "kernel": "elu"},
            r"kernel='elu' is unknown: take one of elu\+1, relu, exp",
        ),
    ],
    ids=["heads", "rotation", "kernel"],
)
@pytest.mark.parametrize("mixer", [LinearAttention, MALA])
def test_wrong_arguments_are_named(mixer, options, named):
    with pytest.raises(ValueError, match=named):
        mixer(**options)
