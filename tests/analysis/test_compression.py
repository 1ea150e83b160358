"""Compression and sparsity by layer against what a block computes by hand."""

import json

import pytest
import torch

from csan_mm.analysis.coding_rate import coding_rate
from csan_mm.analysis.compression import EPSILON, RATES, draw, measure
from csan_mm.backbones import CBT, SwinCSaN, ViTCSaN

BLOCKS = {"embed_dims": 16, "depth": 2, "num_heads": 2}
CBSA = {"type": "cbsa", "rep_grid": 2}


@torch.no_grad()
def test_rows_by_hand(tmp_path):
    backbone = CBT(BLOCKS, img_size=64, mixer=CBSA).double().eval()
    image = torch.randn(3, 64, 48, dtype=torch.double)
    rows, shown = measure(backbone, [image])
    x, grid = backbone.embed(image[None])
    for block, row in zip(backbone.blocks, rows, strict=True):
        g = x + block.attn(block.norm1(x), grid)
        trace = block.attn.trace(block.norm1(x), grid)
        behind = block.attn.trace(block.norm1(g), grid).tokens
        points = (trace.tokens, behind, trace.representatives, trace.contracted)
        for name, own in zip(RATES, points, strict=True):
            assert row[name] == pytest.approx(float(coding_rate(own, EPSILON).sum()), rel=1e-9)
        x = block(x, grid)
        assert row["zeros"] == pytest.approx(float((x == 0).double().mean()))
        assert 0.1 < row["zeros"] < 0.9
    assert json.loads(json.dumps(rows)) == rows
    draw({"one": shown, "two": shown}, tmp_path / "rates.png")
    assert (tmp_path / "rates.png").stat().st_size > 1000


def test_images_are_averaged():
    backbone, images = CBT(BLOCKS, img_size=64).eval(), list(torch.randn(2, 3, 64, 64))
    both, one, other = (measure(backbone, chosen)[0][1] for chosen in (images, images[:1], images[1:]))
    assert both[RATES[0]] == pytest.approx((one[RATES[0]] + other[RATES[0]]) / 2)
    assert one[RATES[0]] != other[RATES[0]]


@pytest.mark.parametrize(
    ("build", "keys"),
    [
        (lambda: CBT(BLOCKS, img_size=64, mixer="tssa"), {"layer", *RATES[:2], "zeros"}),
        (lambda: ViTCSaN(BLOCKS, img_size=64, mixer=CBSA), {"layer", *RATES}),
        (
            lambda: SwinCSaN({"embed_dims": 16, "depths": (2,), "num_heads": (2,)}, mixer="cbsa", out_indices=(0,)),
            {"layer", *RATES[:2]},
        ),
    ],
    ids=["tssa", "vit", "swin"],
)
def test_what_a_block_lacks_is_left_out(build, keys, tmp_path):
    rows, shown = measure(build().eval(), [torch.randn(3, 64, 64)])
    assert [set(row) for row in rows] == [keys] * 2
    draw({"one": shown}, tmp_path / "rates.svg")


def test_tokens_of_one_subspace_have_the_rate_of_the_formula():
    """n points on a line of width p: 1/2 log(1 + p / (n eps^2) sum |z|^2)."""
    direction = torch.nn.functional.normalize(torch.randn(1, 5, dtype=torch.double))
    points = torch.randn(7, 1, dtype=torch.double) * direction
    expected = 0.5 * torch.log1p(5 / (7 * EPSILON**2) * points.square().sum())
    torch.testing.assert_close(coding_rate(points, EPSILON), expected)


def test_a_network_without_subspaces_is_refused():
    with pytest.raises(ValueError, match="ViTCSaN has no subspaces here"):
        measure(ViTCSaN(BLOCKS, img_size=64), [torch.randn(3, 64, 64)])
