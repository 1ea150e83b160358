"""Effective receptive fields against closed forms: stacks of convolutions, a LayerNorm, a whole backbone's reach."""

import json

import pytest
import torch
from torch import nn

from csan_mm.analysis.receptive_field import SHARES, describe, draw, energy_area, receptive_fields
from csan_mm.backbones import SwinCSaN, ViTCSaN


class Maps(nn.Sequential):
    """A sequence that returns a tuple of one map."""

    def forward(self, x):
        return (super().forward(x),)


def box(channels: int, side: int, weight: float = 1.0) -> nn.Conv2d:
    conv = nn.Conv2d(channels, 1, side, padding=side // 2, bias=False).double()
    nn.init.constant_(conv.weight, weight)
    return conv


def test_a_stack_of_box_filters_is_their_convolution():
    stack = Maps(box(3, 3), box(1, 3), box(1, 5))
    (field,) = receptive_fields(stack, [torch.randn(3, 21, 25, dtype=torch.double)])
    line = torch.tensor([1.0, 1, 1], dtype=torch.double)
    for taps in (3, 5):
        kernel = torch.ones(1, 1, taps, dtype=torch.double)
        line = nn.functional.conv1d(line[None, None], kernel, padding=taps - 1)[0, 0]
    expected = torch.zeros(21, 25, dtype=torch.double)
    expected[6:15, 8:17] = torch.outer(line, line).square()  # 9 taps around (10, 12)
    torch.testing.assert_close(field, expected / expected.sum(), rtol=1e-12, atol=1e-15)


def test_areas_of_a_box_are_counted_pixels():
    (field,) = receptive_fields(Maps(box(3, 5)), [torch.randn(3, 15, 15, dtype=torch.double)])
    assert [energy_area(field, share) for share in (0.5, 0.9, 1.0)] == [13, 23, 25]
    assert energy_area(torch.tensor([[4.0, 0, 1], [3, 2, 0]]), 0.5) == 2
    assert energy_area(torch.tensor([[4.0, 0, 1], [3, 2, 0]]), 0.4) == 1


def test_random_signs_give_the_whole_jacobian():
    conv = nn.Conv2d(2, 3, 3, padding=1).double()
    image = torch.randn(2, 7, 9, dtype=torch.double)
    (field,) = receptive_fields(Maps(conv, nn.Tanh()), [image], draws=4000)
    jacobian = torch.autograd.functional.jacobian(lambda x: conv(x[None]).tanh()[0, :, 3, 4], image)  # (3, 2, 7, 9)
    expected = jacobian.square().sum(dim=(0, 1))
    torch.testing.assert_close(field, expected / expected.sum(), rtol=0.15, atol=1e-12)


def test_a_layer_norm_does_not_hide_the_field():
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.LayerNorm(8)

        def forward(self, x):
            return (self.norm(self.conv(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2),)

    (field,) = receptive_fields(Normed(), [torch.randn(3, 9, 9)])
    assert energy_area(field, 1.0) == 9
    share = field[3:6, 3:6] / field.sum()
    assert share.min() > 0.01  # rounding noise of a gradient that vanishes would not spread so


def test_images_are_averaged_and_must_agree():
    stack = Maps(nn.Conv2d(3, 2, 3, padding=1).double(), nn.Sigmoid())
    first, second = torch.randn(2, 3, 9, 9, dtype=torch.double) * 5
    both = receptive_fields(stack, [first, second], draws=1, seed=3)[0]
    alone = receptive_fields(stack, [first], draws=1, seed=3)[0]
    assert not torch.allclose(both, alone)
    assert float(both.sum()) == pytest.approx(1)
    with pytest.raises(ValueError, match="differ in size"):
        receptive_fields(stack, [first, first[:, :5]])
    with pytest.raises(ValueError, match="images is empty"):
        receptive_fields(stack, [])
    with pytest.raises(ValueError, match="share=0"):
        energy_area(both, 0)
    with pytest.raises(ValueError, match="does not depend on the image"):
        receptive_fields(Maps(box(3, 3, 0.0)), [first])


def test_windows_bound_the_first_stage_and_whole_maps_do_not(tmp_path):
    arch = {"embed_dims": 16, "depths": (1, 1), "num_heads": (1, 2)}
    swin = SwinCSaN(arch, mixer="softmax", window_size=4, out_indices=(0, 1)).eval()
    vit = ViTCSaN({"embed_dims": 16, "depth": 1, "num_heads": 2}, img_size=64).eval()
    images = list(torch.randn(2, 3, 64, 64))
    fields, whole = receptive_fields(swin, images), receptive_fields(vit, images)
    assert energy_area(fields[0], 1.0) <= 16 * 16  # one window of 4 x 4 cells of 4 pixels
    assert bool((fields[0][32:48, 32:48] > 0).all())
    assert energy_area(whole[0], 1.0) == 64 * 64
    rows = describe(fields, swin.strides)
    assert [(row["stride"], list(row["area"])) for row in rows] == [
        (stride, [f"{share:.0%}" for share in SHARES]) for stride in (4, 8)
    ]
    assert json.loads(json.dumps(rows)) == rows
    named = {"swin": (fields, swin.strides), "vit": (whole, vit.strides)}
    draw(named, tmp_path / "fields.png")
    assert (tmp_path / "fields.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="picture ends in"):
        draw(named, tmp_path / "fields.jpeg2")
