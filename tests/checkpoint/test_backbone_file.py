"""A backbone taken out of a whole model's checkpoint, and checkpoints made ready for others."""

import hashlib
import json
import re

import numpy as np
import pytest
import safetensors
import torch
from mmengine.config import Config
from mmengine.registry import MODELS

from csan_mm.backbones import SwinCSaN
from csan_mm.checkpoint import CheckpointError, load_file, save_file
from csan_mm.checkpoint.backbone_file import export_backbone, publish
from csan_mm.checkpoint.files import read_weights
from csan_mm.common.errors import ArgumentError
from csan_mm.common.settings import without_init_cfg

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
        "meta": {
            "epoch": 12,
            "cfg": "work_dir = '/home/someone/run'",
            "dataset_meta": {"classes": ("a", "b"), "palette": np.array([[1, 2, 3], [4, 5, 6]])},
        },
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


def test_publishing_leaves_weights_and_the_file_s_checksum_in_the_name(trained, tmp_path):
    for suffix in (".pth", ".safetensors"):
        path = publish(trained[0], tmp_path / f"retinanet{suffix}")
        digits = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        assert path.name == f"retinanet-{digits}{suffix}"
        if suffix == ".pth":  # safetensors orders its metadata as it happens
            assert publish(trained[0], tmp_path / f"retinanet{suffix}") == path
        assert read_weights(path)[1]["epoch"] == 12
        assert read_weights(path)[1]["dataset_meta"] == {"classes": ["a", "b"], "palette": [[1, 2, 3], [4, 5, 6]]}
    assert {file.suffix for file in tmp_path.iterdir()} == {".pth", ".safetensors"}
    content = torch.load(next(tmp_path.glob("retinanet-*.pth")), weights_only=True)
    assert set(content) == {"state_dict", "meta"}
    assert content["meta"]["dataset_meta"]["classes"] == ["a", "b"]
    assert "/home/someone" not in repr(content["meta"])


def test_a_published_safetensors_file_can_be_published_as_pth(trained, tmp_path):
    first = publish(trained[0], tmp_path / "model.safetensors")
    second = torch.load(publish(first, tmp_path / "model.pth"), weights_only=True)
    assert second["meta"]["dataset_meta"]["classes"] == ["a", "b"]
    assert second["meta"]["epoch"] == 12


def test_torch_hub_verifies_the_digits(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path / "hub"))
    path = publish(trained[0], tmp_path / "model_v1.5.pth")
    content = torch.hub.load_state_dict_from_url(path.as_uri(), check_hash=True, weights_only=True)
    assert "bbox_head.weight" in content["state_dict"]
    wrong = path.rename(tmp_path / "model_v1.5-01234567.pth")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        torch.hub.load_state_dict_from_url(wrong.as_uri(), check_hash=True, weights_only=True)


@pytest.mark.parametrize(("name", "taken"), [("swin-1.5.pth", "'1'"), ("swin-.pth", None), ("a-b.c-d.pth", "'b'")])
def test_names_in_which_torch_hub_would_find_other_digits_are_refused(trained, tmp_path, name, taken):
    if taken is None:
        assert publish(trained[0], tmp_path / name).is_file()
        return
    with pytest.raises(ArgumentError, match=f"out=.*torch.hub would take {taken}"):
        publish(trained[0], tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["epoch_12.pth"]


def test_another_suffix_is_refused(trained, tmp_path):
    with pytest.raises(ArgumentError, match=r"ends in \.safetensors, \.pth or \.pt"):
        publish(trained[0], tmp_path / "model.zip")


def test_saved_backbones_name_no_file_of_this_machine(tmp_path):
    """init_cfg.checkpoint went into config.json; a mixer's or a norm's settings may have one too."""
    settings = {name: value for name, value in BACKBONE.items() if name != "type"}
    backbone = SwinCSaN(**settings, init_cfg={"type": "csan_mm.Pretrained", "checkpoint": "/home/someone/swin.pth"})
    backbone.save_pretrained(tmp_path / "hub")
    for path in (tmp_path / "hub").iterdir():
        assert b"/home/someone" not in path.read_bytes()
    again = SwinCSaN.from_pretrained(tmp_path / "hub")
    assert again.state_dict().keys() == backbone.state_dict().keys()
    assert again.init_cfg is None
    inner = {"arch": [{"init_cfg": {"checkpoint": "/home/someone"}, "depth": 2}], "kappa": "bounded"}
    assert without_init_cfg(inner) == {"arch": [{"depth": 2}], "kappa": "bounded"}
