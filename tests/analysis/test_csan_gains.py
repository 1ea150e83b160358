"""CSaN's gains over the image: each in its token's place, in every network."""

import json

import pytest
import torch

from csan_mm.analysis.blocks import mixer_calls, on_map
from csan_mm.analysis.csan_gains import _Probe, draw, gain_maps, measure
from csan_mm.backbones import CBT, HieraCSaN, SwinCSaN, ViTCSaN
from csan_mm.mixers.csan import GAINS

BLOCKS = {"embed_dims": 16, "depth": 2, "num_heads": 2}
STAGES = {"embed_dims": 16, "depths": (2, 1), "num_heads": (1, 2)}
IMAGE = (3, 40, 72)
NETWORKS = {
    "vit": (lambda: ViTCSaN(BLOCKS, img_size=64), [(2, 3, 5)] * 2),
    "vitdet": (lambda: ViTCSaN(BLOCKS, img_size=64, with_cls_token=False, window_size=2), [(2, 3, 5)] * 2),
    "attention-only": (lambda: ViTCSaN(BLOCKS, img_size=64, ffn="attention"), [(2, 3, 5)] * 4),
    "cbt": (lambda: CBT(BLOCKS, img_size=64, mixer="csan"), [(2, 3, 5)] * 2),
    "swin": (lambda: SwinCSaN(STAGES, window_size=4, out_indices=(0, 1)), [(1, 10, 18)] * 2 + [(2, 5, 9)]),
    "swin-v2": (
        lambda: SwinCSaN(STAGES, window_size=4, version="v2", out_indices=(0, 1)),
        [(1, 10, 18)] * 2 + [(2, 5, 9)],
    ),
    "swin-whole": (lambda: SwinCSaN(STAGES, window_size=None, out_indices=(0, 1)), [(1, 10, 18)] * 2 + [(2, 5, 9)]),
    "hiera": (
        lambda: HieraCSaN({**STAGES, "num_heads": 1}, img_size=64, out_indices=(0, 1)),
        [(1, 16, 24)] * 2 + [(2, 8, 12)],
    ),
}


@pytest.mark.parametrize(("build", "shapes"), NETWORKS.values(), ids=NETWORKS)
def test_every_network(build, shapes, tmp_path):
    backbone = build().eval()
    layers = gain_maps(backbone, torch.randn(IMAGE))
    assert [tuple(layer.maps[gain].shape) for layer in layers for gain in GAINS] == [s for s in shapes for _ in GAINS]
    rows, shown = measure(backbone, list(torch.randn(2, *IMAGE)))
    assert json.loads(json.dumps(rows)) == rows
    assert [len(row["tau"]["mean"]) for row in rows] == [shape[0] for shape in shapes]
    draw({"one": shown}, tmp_path / "gains.png")
    assert (tmp_path / "gains.png").stat().st_size > 1000


@torch.no_grad()
def test_gains_are_the_mixers_in_the_place_of_each_token():
    vit = ViTCSaN(BLOCKS, img_size=64).eval()
    image = torch.randn(3, 64, 64)
    tokens, grid = vit.embed(image[None])
    layer = gain_maps(vit, image)[0]
    trace = vit.blocks[0].attn.trace(vit.blocks[0].norm1(tokens))
    for gain in GAINS:
        expected = getattr(trace, gain)[0].mean(dim=-1)[:, 1:].unflatten(1, grid)  # the class token left out
        torch.testing.assert_close(layer.maps[gain], expected)


@torch.no_grad()
@pytest.mark.parametrize("shift", [0, 2])
def test_windows_come_back_to_their_places(shift):
    """Each cell's gains are those its own window gave it; where it lies is told by numbers that are cut in the same way."""
    swin = SwinCSaN({"embed_dims": 16, "depths": (2,), "num_heads": (2,)}, window_size=4, out_indices=(0,)).eval()
    calls = [call for call in mixer_calls(swin, torch.randn(3, 40, 56)) if call.grid.shifted == bool(shift)]
    (call,) = calls
    trace = call.mixer.trace(call.grid.split(call.x), call.grid.mask(call.x))
    places = call.grid.split(torch.arange(1.0, 141).view(1, 10, 14, 1)).flatten().long()  # 0: padding
    found = on_map(call, _Probe(call.mixer))[0].flatten(0, 1)  # (140, 4 H)
    for i, gain in enumerate(GAINS):
        values = getattr(trace, gain).mean(dim=-1).transpose(1, 2).flatten(0, 1)  # (nW * N, H)
        torch.testing.assert_close(found[places[places > 0] - 1, 2 * i : 2 * i + 2], values[places > 0])


@torch.no_grad()
def test_gains_left_out_are_constant():
    vit = ViTCSaN(BLOCKS, img_size=64, mixer={"type": "csan", "off": ("tau", "kpriv")}).eval()
    layer = gain_maps(vit, torch.randn(3, 64, 64))[0]
    assert (layer.maps["tau"] == 1).all()
    assert (layer.maps["kpriv"] == 0).all()
    assert layer.maps["mu"].std() > 0


def test_pooled_mu_is_one_value_for_all():
    vit = ViTCSaN(BLOCKS, img_size=64, mixer={"type": "csan", "pooled_mu": True}).eval()
    mu = gain_maps(vit, torch.randn(3, 64, 64))[0].maps["mu"]
    assert (mu == mu[:, :1, :1]).all()


def test_a_network_without_csan_is_refused():
    with pytest.raises(ValueError, match="ViTCSaN has no CSaN mixer here"):
        gain_maps(ViTCSaN(BLOCKS, img_size=64, mixer="softmax"), torch.randn(3, 64, 64))
