"""Representatives' maps and the segments that follow: where tokens are told apart, so are segments; IoU by hand."""

import json

import pytest
import torch

from csan_mm.analysis.representatives import at_tokens, draw, matched_miou, measure, representative_maps
from csan_mm.backbones import CBT, SwinCSaN, ViTCSaN

BLOCKS = {"embed_dims": 16, "depth": 2, "num_heads": 2}
CBSA = {"type": "cbsa", "rep_grid": 2}


def test_matched_iou_by_hand():
    labels = torch.tensor([0, 0, 0, 1, 1, 255])
    assert matched_miou(torch.tensor([5, 5, 5, 7, 7, 9]), labels) == 1
    assert matched_miou(torch.zeros(6, dtype=torch.long), labels) == pytest.approx((3 / 5 + 0) / 2)
    # Token 2 lies in the segment of class 1: IoU 2/3 for both.
    assert matched_miou(torch.tensor([5, 5, 7, 7, 7, 9]), labels) == pytest.approx(2 / 3)
    assert matched_miou(torch.zeros(2), torch.tensor([255, 255])) is None


def test_labels_are_taken_at_the_tokens():
    labels = torch.zeros(4, 6, dtype=torch.long)
    labels[:, 3:] = 2
    assert at_tokens(labels, torch.zeros(2, 2)).tolist() == [[0, 2], [0, 2]]


@pytest.mark.parametrize(
    "build",
    [
        lambda: CBT(BLOCKS, img_size=64, mixer=CBSA),
        lambda: CBT(
            BLOCKS,
            img_size=64,
            mixer={"type": "cbsa", "representatives": "learned", "rep_grid": 2},
            with_cls_token=False,
        ),
        lambda: ViTCSaN(BLOCKS, img_size=64, mixer=CBSA, num_registers=2),
    ],
    ids=["cbt", "learned", "vit"],
)
def test_maps_and_rows(build, tmp_path):
    backbone = build().eval()
    image = torch.randn(3, 64, 96)
    layers = representative_maps(backbone, image)
    assert [layer.maps.shape for layer in layers] == [(4, 4, 6)] * 2
    assert all((layer.maps.sum(dim=(1, 2)) <= 1 + 1e-5).all() for layer in layers)
    labels = [torch.randint(0, 2, (64, 96))]
    rows, shown = measure(backbone, [image], labels)
    assert [row["representatives"] for row in rows] == [4, 4]
    assert all(1 <= row["segments"] <= 4 and 0 <= row["mIoU"] <= 1 for row in rows)
    assert json.loads(json.dumps(rows)) == rows
    assert "mIoU" not in measure(backbone, [image])[0][0]
    draw({"one": shown}, tmp_path / "maps.png")
    assert (tmp_path / "maps.png").stat().st_size > 1000


@torch.no_grad()
def test_two_halves_of_an_image_are_two_segments():
    """Tokens of two kinds, representatives pooled from the one and from the other: each draws from its own."""
    backbone = CBT(
        {**BLOCKS, "depth": 1}, img_size=64, mixer={"type": "cbsa", "rep_grid": (1, 2)}, with_cls_token=False
    )
    backbone.eval().pos_embed.zero_()
    image = torch.randn(3, 1, 1).expand(3, 64, 128).clone()
    image[:, :, 64:] *= -1
    backbone.blocks[0].attn.proj.weight.mul_(20)
    (layer,) = representative_maps(backbone, image)
    left, right = layer.segments[:, 1].unique(), layer.segments[:, -2].unique()
    assert (len(left), len(right)) == (1, 1)
    assert left != right
    labels = torch.zeros(64, 128, dtype=torch.long)
    labels[:, 64:] = 1
    assert matched_miou(layer.segments, at_tokens(labels, layer.segments)) > 0.7


@pytest.mark.parametrize(
    "build",
    [
        lambda: CBT(BLOCKS, img_size=64, mixer={"type": "cbsa", "representatives": "tokens"}),
        lambda: CBT(BLOCKS, img_size=64, mixer="mssa"),
        lambda: SwinCSaN({"embed_dims": 16, "depths": (1,), "num_heads": (2,)}, mixer="cbsa", out_indices=(0,)),
    ],
    ids=["tokens", "mssa", "swin"],
)
def test_networks_without_representatives_are_refused(build):
    with pytest.raises(ValueError, match="has no representatives here: take a CBT or ViT"):
        representative_maps(build().eval(), torch.randn(3, 64, 64))
