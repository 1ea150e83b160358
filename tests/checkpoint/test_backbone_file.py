"""A backbone taken out of a whole model's checkpoint, and checkpoints made ready for others."""

import json
import re

import pytest
import safetensors
import torch
from mmengine.config import Config
from mmengine.registry import MODELS

from csan_mm.backbones import SwinCSaN
from csan_mm.checkpoint import CheckpointError, load_file, save_file
from csan_mm.checkpoint.backbone_file import export_backbone, publish

BACKBONE = {
    "type": "csan_mm.SwinCSaN",
    "arch": {"embed_dims": 16, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 4, 4)},
    "kappa": "bounded",
}
CONFIG = Config(
    {"model": {"backbone": {**BACKBONE, "init_cfg": {"type": "csan_mm.Pretrained", "checkpoint": "x.pth"}}}}
)


@pytest.fixture
def trained(tmp_path):
    """A detector's checkpoint as mmengine writes it."""
    backbone = MODELS.build(BACKBONE)
    state = {f"backbone.{name}": value for name, value in backbone.state_dict().items()}
    content = {
        "state_dict": {**state, "bbox_head.weight": torch.ones(3)},
        "optimizer": {"state": {}},
        "meta": {"epoch": 12},
    }
    torch.save(content, tmp_path / "epoch_12.pth")
    return tmp_path / "epoch_12.pth", backbone


def test_the_files_give_the_backbone_back_and_say_what_it_is(trained, tmp_path):
    checkpoint, backbone = trained
    paths = export_backbone(checkpoint, CONFIG, tmp_path / "swin")
    assert [path.name for path in paths] == ["swin.safetensors", "swin.pth"]
    for path in paths:
        again = SwinCSaN(**{k: v for k, v in BACKBONE.items() if k != "type"})
        again.load_state_dict(load_file(path))
        assert all(
            torch.equal(one, other) for one, other in zip(again.state_dict().values(), backbone.state_dict().values())
        )
    with safetensors.safe_open(paths[0], "pt") as file:
        about = file.metadata()
    assert about == torch.load(paths[1], weights_only=True)["meta"]
    assert json.loads(about["arch"])["kappa"] == "bounded"
    assert "init_cfg" not in json.loads(about["arch"])
    assert about["source"] == "epoch_12.pth"


def test_changed_weights_are_noticed(trained, tmp_path):
    path = export_backbone(trained[0], CONFIG, tmp_path / "swin")[1]
    content = torch.load(path, weights_only=True)
    content["state_dict"]["norm3.weight"][0] += 1
    torch.save(content, path)
    with pytest.raises(CheckpointError, match=re.escape(str(path)) + " was changed or damaged"):
        load_file(path)


def test_another_config_and_a_file_without_backbone_are_named(trained, tmp_path):
    other = Config({"model": {"backbone": {**BACKBONE, "kappa": "unbounded"}}})
    with pytest.raises(CheckpointError, match=r"first difference: layers\.0\.blocks\.0\.attn\.act\.proj"):
        export_backbone(trained[0], other, tmp_path / "swin")
    save_file({"weight": torch.ones(1)}, tmp_path / "other.pth")
    with pytest.raises(CheckpointError, match=r"other\.pth has no weights under backbone"):
        export_backbone(tmp_path / "other.pth", CONFIG, tmp_path / "swin")
    assert not list(tmp_path.glob("swin*"))


def test_publishing_leaves_weights_and_a_checksum_in_the_name(trained, tmp_path):
    path = publish(trained[0], tmp_path / "retinanet.pth")
    assert re.fullmatch(r"retinanet-[0-9a-f]{8}\.pth", path.name)
    content = torch.load(path, weights_only=True)
    assert set(content) == {"state_dict", "meta"}
    assert content["meta"]["epoch"] == "12"
    assert content["meta"]["sha256"].startswith(path.stem[-8:])
    assert publish(trained[0], tmp_path / "retinanet.pth") == path
