"""||dW|| / ||w|| by depth: the layers' own ratio, worked out from one of them by hand."""

import json

import pytest
import torch

from csan_mm.analysis.dynamic_weights import draw, measure
from csan_mm.backbones import ViTCSaN, WeightFormer

ARCH = {"embed_dims": 16, "depth": 5}


@torch.no_grad()
def test_rows(tmp_path):
    backbone = WeightFormer(ARCH, dynamic=3).eval()  # blocks 1 and 4
    images = list(torch.randn(2, 3, 64, 48))
    rows, shown = measure(backbone, images)
    assert [(row["block"], row["kind"]) for row in rows] == [(b, k) for b in (1, 4) for k in ("convolution", "linear")]
    x, grid = backbone.embed(torch.stack(images))
    x = backbone.blocks[1].norm1(backbone.blocks[0](x, grid))
    layer = backbone.blocks[1].dwc
    update = layer.predict(x, grid)
    expected = [float(own.norm() / layer.w.norm()) for own in update]
    assert rows[0]["ratio"] == pytest.approx(sum(expected) / 2, rel=1e-4)
    assert expected[0] != pytest.approx(expected[1], rel=1e-4)
    assert json.loads(json.dumps(rows)) == rows
    draw({"one": shown, "two": shown}, tmp_path / "weights.png")
    assert (tmp_path / "weights.png").stat().st_size > 1000


def test_a_static_layer_has_no_row():
    backbone = WeightFormer(ARCH, linear_strategy="static").eval()
    assert {row["kind"] for row in measure(backbone, [torch.randn(3, 32, 32)])[0]} == {"convolution"}
    assert not backbone.blocks[1].dwc._forward_pre_hooks


def test_a_network_without_dynamic_layers_is_refused():
    with pytest.raises(ValueError, match="ViTCSaN has no dynamic layers here: take a WeightFormer"):
        measure(ViTCSaN({"embed_dims": 16, "depth": 1, "num_heads": 2}, img_size=32), [torch.randn(3, 32, 32)])
