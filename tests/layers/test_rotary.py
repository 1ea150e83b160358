"""2-D rotary embedding: against loops, and the identities a rotation keeps."""

import math

import pytest
import torch

from csan_mm.layers.rotary import Rotary2D, rotate


@pytest.mark.parametrize("head_dims", [4, 16], ids=lambda d: f"d{d}")
def test_equals_the_formula_in_loops(head_dims):
    H, W, half = 3, 5, head_dims // 2
    x = torch.randn(2, H * W, head_dims, dtype=torch.float64)
    turned = rotate(x, Rotary2D(head_dims)((H, W), x))
    pairs = head_dims // 4
    for b in range(2):
        for n in range(H * W):
            for m in range(half):
                place = n // W if m < pairs else n % W  # the first half turns with the row
                t = (m % pairs) / (pairs - 1) if pairs > 1 else 0
                a = place * 10000**-t
                x0, x1 = x[b, n, 2 * m].item(), x[b, n, 2 * m + 1].item()
                expected = [x0 * math.cos(a) - x1 * math.sin(a), x1 * math.cos(a) + x0 * math.sin(a)]
                assert turned[b, n, 2 * m : 2 * m + 2].tolist() == pytest.approx(expected, abs=1e-12)


def test_angles_are_those_of_the_checkpoints(golden_dir):
    from golden import read_golden

    state = read_golden(golden_dir, "mavit").state
    for i in range(4):
        angle = state[f"layers.{i}.RoPE.angle"]
        torch.testing.assert_close(Rotary2D(2 * len(angle), persistent=True).angle, angle, rtol=1e-6, atol=0)


def test_products_depend_on_the_offset_alone():
    q, k = torch.randn(2, 8, dtype=torch.float64)
    rotation = Rotary2D(8)((6, 7), q)
    turned_q, turned_k = rotate(q.expand(42, -1), rotation), rotate(k.expand(42, -1), rotation)
    products = (turned_q @ turned_k.T).view(6, 7, 6, 7)
    torch.testing.assert_close(products[0, 0, 2, 3], products[3, 2, 5, 5])
    torch.testing.assert_close(products[4, 6, 1, 0], products[5, 6, 2, 0])
    assert (products[0, 0, 2, 3] - products[0, 0, 3, 2]).abs() > 1e-3
    torch.testing.assert_close(turned_q.norm(dim=-1), q.norm().expand(42))


def test_tokens_in_front_do_not_turn():
    x, rotary = torch.randn(1, 2, 14, 8), Rotary2D(8)
    turned = rotate(x, rotary((3, 4), x, extra=2))
    assert torch.equal(turned[:, :, :2], x[:, :, :2])
    assert torch.equal(turned[:, :, 2:], rotate(x[:, :, 2:], rotary((3, 4), x)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_types_keep_the_angles_and_the_type(dtype):
    rotary = torch.nn.Sequential(Rotary2D(16, persistent=True)).to(dtype)[0]
    assert torch.equal(rotary.angle, Rotary2D(16, persistent=True).angle)
    x = torch.randn(1, 1, 300, 16)
    turned = rotate(x.to(dtype), rotary((300, 1), x.to(dtype)))
    assert turned.dtype == dtype
    torch.testing.assert_close(turned.float(), rotate(x, rotary((300, 1), x)), rtol=0.02, atol=0.02)


def test_the_file_has_the_angles_of_what_was_made_without_values():
    with torch.device("meta"):
        rotary = Rotary2D(16, persistent=True)
    assert torch.equal(rotary.to_empty(device="cpu").state_dict()["angle"], Rotary2D(16, persistent=True).angle)
    assert not Rotary2D(16).state_dict()


@pytest.mark.parametrize("head_dims", [2, 6])
def test_a_width_that_cannot_be_split_is_named(head_dims):
    with pytest.raises(ValueError, match=f"head_dims={head_dims} cannot be rotated.*multiple of 4"):
        Rotary2D(head_dims)
