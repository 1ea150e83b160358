"""Backbones by name, their feature lists, and folders as Hugging Face keeps them."""

import pytest
import torch
from mmengine.logging import MMLogger

import csan_mm
from csan_mm.checkpoint import CheckpointError, save_file

SMALL = {"embed_dims": 16, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 4, 4)}


@pytest.mark.parametrize("name", csan_mm.list_models())
def test_every_name_builds_and_lists_its_features(name):
    with torch.device("meta"):
        backbone = csan_mm.get_backbone(name)
    widths = [(row["num_chs"], row["reduction"]) for row in backbone.feature_info]
    assert widths == list(zip(backbone.channels, backbone.strides))
    assert len(widths) == len(backbone.out_indices)


def test_options_reach_the_class_and_weights_the_backbone(tmp_path):
    trained = csan_mm.get_backbone("cbt-tiny")
    save_file(trained.state_dict(), tmp_path / "cbt.safetensors")
    backbone = csan_mm.get_backbone("cbt-tiny", pretrained=tmp_path / "cbt.safetensors", with_cp=True)
    assert backbone.with_cp
    assert all(
        torch.equal(one, other) for one, other in zip(backbone.state_dict().values(), trained.state_dict().values())
    )
    with pytest.raises(ValueError, match=r"source='ms-swin' says .* give pretrained=PATH"):
        csan_mm.get_backbone("swin-csan-tiny", source="ms-swin")
    with pytest.raises(CheckpointError, match="does not fit"):
        csan_mm.get_backbone("cbt-small", pretrained=tmp_path / "cbt.safetensors")


def test_the_layout_of_a_file_is_told_from_its_names(tmp_path, caplog):
    """As tools/model_converters/convert.py does it, and the log says which it was; our own files need no word."""
    plain = csan_mm.backbones.SwinCSaN("tiny-slim", mixer="softmax", out_indices=(3,)).state_dict()
    file = {name.replace("norm3.", "norm."): value for name, value in plain.items()}
    torch.save({"model": {**file, "head.fc.weight": torch.zeros(10, 768)}}, tmp_path / "timm.pth")
    logger = MMLogger.get_current_instance()
    logger.addHandler(caplog.handler)
    try:
        backbone = csan_mm.get_backbone("swin-csan-tiny-slim", pretrained=tmp_path / "timm.pth")
        said = [record.getMessage() for record in caplog.records]
        assert f"{tmp_path / 'timm.pth'}: its names are those of source='timm-swin'" in said
        name = "layers.2.blocks.1.attn.qkv.weight"
        assert torch.equal(backbone.state_dict()[name], plain[name])
        save_file(backbone.state_dict(), tmp_path / "own.pth")
        caplog.clear()
        csan_mm.get_backbone("swin-csan-tiny-slim", pretrained=tmp_path / "own.pth")
        assert not any("its names are" in record.getMessage() for record in caplog.records)
    finally:
        logger.removeHandler(caplog.handler)
    torch.save({"conv1.weight": torch.zeros(1)}, tmp_path / "alien.pth")
    with pytest.raises(CheckpointError, match="does not fit SwinCSaN: 0% of the names match"):
        csan_mm.get_backbone("swin-csan-tiny-slim", pretrained=tmp_path / "alien.pth")


def test_unknown_names_list_the_near_ones():
    with pytest.raises(ValueError, match="name='swin-csan-tin' is unknown: take one of swin-csan-tiny"):
        csan_mm.get_backbone("swin-csan-tin")


def test_a_folder_keeps_a_backbone(tmp_path):
    backbone = csan_mm.backbones.SwinCSaN(SMALL, kappa="bounded", version="v2", out_indices=(1, 2))
    backbone.save_pretrained(tmp_path / "swin")
    assert {path.name for path in (tmp_path / "swin").iterdir()} >= {"config.json", "model.safetensors"}
    again = csan_mm.backbones.SwinCSaN.from_pretrained(tmp_path / "swin")
    image = torch.randn(1, 3, 40, 56)
    for one, other in zip(backbone.eval()(image), again.eval()(image)):
        assert torch.equal(one, other)
