"""Noise on projections: which weights get it, how much, that it goes away, the table, and what CBSA is said to withstand."""

from contextlib import suppress

import pytest
import torch
from torch import nn

from csan_mm.analysis.projection_noise import NoisePoint, draw, format_points, measure, noisy_projections, projections
from csan_mm.backbones import CBT, ViTCSaN
from csan_mm.mixers import CBSA, build_mixer

VIT = {"arch": {"embed_dims": 32, "depth": 2, "num_heads": 2}, "img_size": 32, "patch_size": 8}


@pytest.mark.parametrize("mixer", ["cbsa", "mssa", "tssa", "softmax", "csan", "linear", "mala"])
def test_noise_is_on_what_makes_queries_keys_and_values_only(mixer):
    model = ViTCSaN(**VIT, mixer=mixer)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with noisy_projections(model, 0.25, seed=1):
        noise = {n: v - before[n] for n, v in model.state_dict().items() if not torch.equal(v, before[n])}
    kind = "proj" if mixer in ("cbsa", "mssa", "tssa") else "qkv"
    assert set(noise) == {f"blocks.{i}.attn.{kind}.weight" for i in (0, 1)}
    assert torch.cat([value.flatten() for value in noise.values()]).std() == pytest.approx(0.5, rel=0.1)
    assert not torch.equal(*noise.values())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_noise_goes_away_after_an_error_and_is_the_same_for_a_seed():
    model = CBT({"embed_dims": 16, "depth": 1, "num_heads": 2}, img_size=32)
    weight = projections(model)[0].weight
    before, seen = weight.clone(), []
    for seed in (3, 3, 4):
        with suppress(KeyError), noisy_projections(model, 1.0, seed):
            seen.append(weight.clone())
            raise KeyError
        assert torch.equal(weight, before)
    assert torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[0], seen[2])


@torch.no_grad()
def test_noise_on_outputs():
    model = ViTCSaN(**VIT, mixer="cbsa").eval()
    x = torch.randn(50, 32)
    layer = model.blocks[1].attn.proj
    clean = layer(x)
    with noisy_projections(model, 0.25, seed=1, on="outputs"):
        outputs = [layer(x) - clean for _ in range(2)]
    assert torch.cat(outputs).std() == pytest.approx(0.5, rel=0.1)
    assert not torch.equal(*outputs)
    assert torch.equal(layer(x), clean)
    with (
        pytest.raises(ValueError, match="on='scores' is unknown: take one of weights, outputs"),
        noisy_projections(model, 1.0, 0, "scores"),
    ):
        pass


def test_no_mixer_is_named():
    with pytest.raises(ValueError, match="Linear has no mixer of csan_mm"):
        projections(nn.Linear(2, 2))


def test_measure_and_table(tmp_path):
    model = build_mixer("cbsa", embed_dims=16, num_heads=2)
    clean = model.proj.weight.clone()
    points = list(measure("a", model, lambda: float(torch.equal(model.proj.weight, clean)) * 80, (0.0, 1.0), trials=3))
    assert [(p.variance, p.scores) for p in points] == [(0.0, (80.0,)), (1.0, (0.0, 0.0, 0.0))]
    points.append(NoisePoint("a", 2.0, (10.0, 30.0)))
    assert points[-1].spread == pytest.approx(200**0.5)
    assert points[0].spread == 0
    table = format_points(points).splitlines()
    assert table[2] == "| a | 0 | 80.00 | 0.00 | 100% |"
    assert table[4] == "| a | 2 | 20.00 | 14.14 | 25% |"
    draw(points, tmp_path / "new" / "noise.svg", "top-1")
    assert "variance of the noise" in (tmp_path / "new" / "noise.svg").read_text()


@torch.no_grad()
def test_under_strong_noise_most_tokens_get_nothing_from_cbsa():
    """Scores saturate, a representative picks one token, and the broadcast reaches the picked ones alone; softmax reaches all."""
    x, grid = torch.randn(1, 400, 64), (20, 20)
    received = {}
    for mixer in ("cbsa", "softmax"):
        module = build_mixer(mixer, embed_dims=64, num_heads=1)
        with noisy_projections(module, 4.0, seed=0):
            silent = module.to_out.bias if isinstance(module, CBSA) else module.proj.bias
            received[mixer] = ((module(x, grid) - silent).norm(dim=-1) > 1e-2).float().mean().item()
    assert received["softmax"] == 1
    assert received["cbsa"] < 0.5
