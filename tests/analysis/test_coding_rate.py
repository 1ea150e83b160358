"""Coding rates: the formula by singular values, its limits, and the curves against rates worked out by hand."""

import pytest
import torch

from csan_mm.analysis.coding_rate import CURVES, CodingRates, coding_rate, draw, format_rates
from csan_mm.backbones import CBT, ViTCSaN

SMALL = {"embed_dims": 16, "depth": 2, "num_heads": 2}


def test_rate_is_the_sum_over_singular_values():
    points, epsilon = torch.randn(3, 7, 4, dtype=torch.double), 0.3
    for own, rate in zip(points, coding_rate(points, epsilon)):
        expected = sum(torch.log(1 + 4 / (7 * epsilon**2) * s**2) / 2 for s in torch.linalg.svdvals(own))
        assert rate == pytest.approx(float(expected), rel=1e-10)


def test_limits():
    points = torch.randn(9, 4, dtype=torch.double)
    turn = torch.linalg.qr(torch.randn(4, 4, dtype=torch.double)).Q
    assert coding_rate(torch.zeros(9, 4)) == 0
    torch.testing.assert_close(coding_rate(points @ turn), coding_rate(points))
    torch.testing.assert_close(
        coding_rate(points.repeat(5, 1)), coding_rate(points)
    )  # more of the same costs no more each
    assert coding_rate(0.5 * points) < coding_rate(points)
    line = points[:, :1] * torch.ones(4, dtype=torch.double)
    assert coding_rate(line) < coding_rate(torch.diag(points[:4].norm(dim=1)).double())


@torch.no_grad()
def test_curves_of_cbsa_by_hand():
    model = CBT(SMALL, img_size=64, mixer={"type": "cbsa", "rep_grid": 2}).eval()
    image, rates = torch.randn(3, 3, 64, 96), CodingRates(model)
    with rates.collecting():
        model(image)
    model(image)  # outside of the block nothing is added
    means = rates.means()
    assert list(means) == list(CURVES)
    x, grid = model.embed(image)
    for i, block in enumerate(model.blocks):
        trace = block.attn.trace(block.norm1(x), grid)
        for curve, points in zip(means, (trace.tokens, trace.representatives, trace.contracted)):
            expected = coding_rate(points).sum(dim=1).mean()
            assert means[curve][i] == pytest.approx(float(expected), rel=1e-5)
        x = block(x, grid)
    assert all(len(layer) == 3 for layers in rates.rates.values() for layer in layers)


@torch.no_grad()
def test_others_have_tokens_only(tmp_path):
    named = {}
    for mixer in ("mssa", "tssa"):
        rates = CodingRates(CBT(SMALL, img_size=32, mixer=mixer).eval())
        with rates.collecting():
            rates.model(torch.randn(1, 3, 32, 32))
        named[mixer] = rates.means()
        assert list(named[mixer]) == ["tokens"]
    assert format_rates(named["mssa"]).splitlines()[0] == "| layer | tokens |"
    draw(named, tmp_path / "rates.svg")
    assert "coding rate" in (tmp_path / "rates.svg").read_text()
    with pytest.raises(ValueError, match="ViTCSaN has no subspaces"):
        CodingRates(ViTCSaN(SMALL, mixer="softmax"))
