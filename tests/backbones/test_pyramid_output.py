"""Maps at four strides from four depths (``out_type='pyramid'``), the same of every backbone of one resolution."""

from math import ceil

import pytest
import torch

from csan_mm.backbones import CBT, ViTCSaN, WeightFormer
from csan_mm.backbones.isotropic import IsotropicBackbone
from csan_mm.checkpoint import save_file

VIT = {"embed_dims": 16, "depth": 4, "num_heads": 2}
FAMILIES = {
    "weightformer": (WeightFormer, {"arch": {"embed_dims": 16, "depth": 4}, "dynamic": 2}),
    "vit": (ViTCSaN, {"arch": VIT, "num_registers": 1}),
    "vit-windows": (ViTCSaN, {"arch": VIT, "window_size": 2, "with_cls_token": False}),
    "cbt": (CBT, {"arch": VIT}),
}


@pytest.fixture(params=FAMILIES)
def family(request) -> str:
    return request.param


def pyramid(family: str, **options) -> IsotropicBackbone:
    kind, arch = FAMILIES[family]
    return kind(**arch, **{"out_type": "pyramid", "out_indices": (0, 1, 2, 3), **options})


@pytest.mark.parametrize("size", [(1, 1), (16, 16), (17, 50), (64, 96), (75, 31)], ids=str)
def test_any_size(family, size):
    model = pyramid(family, norm_cfg={"type": "LN"}, norm_eval=True)
    assert (model.channels, model.strides) == ((16,) * 4, (4, 8, 16, 32))
    levels = model(torch.randn(2, 3, *size))
    for level, stride in zip(levels, (4, 8, 16, 32)):
        assert level.shape == (2, 16, ceil(size[0] / stride), ceil(size[1] / stride))
        assert level.is_contiguous()
    sum(level.square().mean() for level in levels).backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


@torch.no_grad()
def test_levels_are_made_from_the_blocks(family):
    model = pyramid(family).eval()
    image = torch.randn(1, 3, 75, 50)
    levels = model(image)
    four, two, _, _ = model.pyramid
    model.pyramid = None
    maps = model(image)
    torch.testing.assert_close(levels[0], four(maps[0])[:, :, :19, :13])
    torch.testing.assert_close(levels[1], two(maps[1])[:, :, :10, :7])
    assert torch.equal(levels[2], maps[2])
    assert torch.equal(levels[3][:, :, :2, :2], torch.nn.functional.max_pool2d(maps[3][:, :, :4, :4], 2))
    assert torch.equal(levels[3][:, :, 2, :], torch.nn.functional.max_pool2d(maps[3][:, :, 4:], (1, 2)).squeeze(2))


@torch.no_grad()
def test_channels_last_stays(family):
    model, image = pyramid(family).eval(), torch.randn(2, 3, 64, 80)
    plain = model(image)
    last = model.to(memory_format=torch.channels_last)(image.contiguous(memory_format=torch.channels_last))
    for one, other in zip(plain, last):
        assert other.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_it_stands_behind_the_blocks(family):
    model = pyramid(family, frozen_stages=4)
    assert not any(p.requires_grad for p in model.parameters())
    assert model.get_layer_depth("pyramid.0.0.weight") == (5, 6)
    assert all(p.requires_grad for p in pyramid(family, frozen_stages=3).pyramid.parameters())


def test_a_file_without_it_leaves_its_start(family, tmp_path):
    path = tmp_path / "map.safetensors"
    plain = pyramid(family, out_type="featmap")
    save_file(plain.state_dict(), path)
    model = pyramid(family, init_cfg={"type": "csan_mm.Pretrained", "checkpoint": str(path)})
    start = {name: value.clone() for name, value in model.pyramid.state_dict().items()}
    model.init_weights()
    loaded = model.state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in plain.state_dict().items())
    assert all(torch.equal(loaded[f"pyramid.{name}"], value) for name, value in start.items())


def test_other_than_four_depths_are_refused(family):
    with pytest.raises(ValueError, match=r"four out_indices and got \(3,\): take for instance \(0, 1, 2, 3\)"):
        pyramid(family, out_indices=-1)
