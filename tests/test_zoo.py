"""Backbones by name, their feature lists, and folders as Hugging Face keeps them."""

import pytest
import torch
from mmengine.logging import MMLogger

import csan_mm
from csan_mm import backbones
from csan_mm.checkpoint import CheckpointError, save_file
from csan_mm.zoo import FAMILIES

SMALL = {"embed_dims": 16, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 4, 4)}
MAVIT = {"embed_dims": (8, 8, 16, 16), "depths": (1, 1, 1, 1), "num_heads": (1, 1, 2, 2)}
BLOCKS = {"embed_dims": 16, "depth": 4, "num_heads": 2}


@pytest.mark.parametrize("name", csan_mm.list_models())
def test_every_name_builds_and_lists_its_features(name):
    with torch.device("meta"):
        backbone = csan_mm.get_backbone(name)
    info = backbone.feature_info
    assert isinstance(info, list)
    assert [(row["num_chs"], row["reduction"]) for row in info] == list(zip(backbone.channels, backbone.strides))
    assert len(info) == len(backbone.out_indices)
    assert (info.channels(), info.reduction()) == (list(backbone.channels), list(backbone.strides))
    assert (info.channels(0), info.reduction([-1])) == (backbone.channels[0], [backbone.strides[-1]])
    assert [row["index"] for row in info.get_dicts()] == list(backbone.out_indices)
    for module in info.module_name():
        backbone.get_submodule(module)
    with pytest.raises(ValueError, match=rf"idx=\[9\] is out of range: this backbone returns {len(info)} maps"):
        info.channels([9])


@pytest.mark.parametrize(
    "backbone",
    [
        pytest.param(lambda **more: backbones.SwinCSaN(SMALL, mixer="softmax", **more), id="swin"),
        pytest.param(lambda **more: backbones.HieraCSaN({**SMALL, "num_heads": 1}, **more), id="hiera"),
        pytest.param(lambda **more: backbones.MAViT(MAVIT, **more), id="mavit"),
        pytest.param(lambda **more: backbones.CBT(BLOCKS, **more), id="cbt"),
        pytest.param(lambda **more: backbones.ViTCSaN(BLOCKS, out_type="pyramid", **more), id="vit-pyramid"),
        pytest.param(lambda **more: backbones.WeightFormer({"embed_dims": 16, "depth": 4}, dynamic=2, **more), id="weightformer"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("norm_cfg", [None, {"type": "LN"}], ids=["raw", "normed"])
def test_the_module_named_for_a_map_makes_it(backbone, norm_cfg):
    """What a forward hook on that module sees has, in some order of its axes, the map's values."""
    backbone = backbone(norm_cfg=norm_cfg, out_indices=(0, 1, 2, 3)).eval()
    seen = []
    for name in backbone.feature_info.module_name():
        backbone.get_submodule(name).register_forward_hook(lambda module, inputs, output: seen.append(output))
    maps = backbone(torch.randn(1, 3, 64, 64))
    assert len(seen) == len(maps) == 4
    for made, given in zip(seen, maps):
        tokens = made if made.dim() == 4 or made.shape[1] == given[0, 0].numel() else made[:, -given[0, 0].numel() :]
        torch.testing.assert_close(tokens.flatten().sort().values, given.flatten().sort().values)


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
    plain = backbones.SwinCSaN("tiny-slim", mixer="softmax", out_indices=(3,)).state_dict()
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"in_chans": 4}, r"SwinCSaN takes no argument 'in_chans': did you mean in_channels\?"),
        ({"drop_path": 0.1}, r"no argument 'drop_path': did you mean drop_path_rate\?"),
        ({"out_indeces": (0,)}, r"no argument 'out_indeces': did you mean out_indices\?"),
        ({"features_only": True}, "no argument 'features_only': leave it out: a backbone always returns its maps"),
        ({"num_classes": 0}, "no argument 'num_classes': leave it out"),
        ({"zzz": 0}, "no argument 'zzz': it takes arch, mixer, kappa"),
        ({"arch": "small"}, r"arch='small' beside name='swin-csan-tiny': .*csan_mm.backbones.SwinCSaN\(arch=...\)"),
        ({"pretrained": True}, "pretrained=True is not a file: csan_mm downloads nothing, give the path"),
    ],
)
def test_timm_s_habits_are_answered(options, message):
    with pytest.raises(ValueError, match=message):
        csan_mm.get_backbone("swin-csan-tiny", **options)


@pytest.mark.parametrize("name", [csan_mm.list_models(family)[0] for family in FAMILIES])
def test_what_is_no_batch_of_images_is_told_the_shape(name):
    with torch.device("meta"):
        backbone = csan_mm.get_backbone(name)
    with pytest.raises(ValueError, match=r"\(3, 64, 64\) is not a batch .*\(B, in_channels, H, W\): .*image\[None\]"):
        backbone(torch.zeros(3, 64, 64, device="meta"))
    with pytest.raises(ValueError, match=r"\(64, 64\) is not a batch of images \(B, in_channels, H, W\): take images"):
        backbone(torch.zeros(64, 64, device="meta"))


def test_a_folder_keeps_a_backbone(tmp_path):
    backbone = backbones.SwinCSaN(SMALL, kappa="bounded", version="v2", out_indices=(1, 2))
    backbone.save_pretrained(tmp_path / "swin")
    assert {path.name for path in (tmp_path / "swin").iterdir()} >= {"config.json", "model.safetensors"}
    again = backbones.SwinCSaN.from_pretrained(tmp_path / "swin")
    image = torch.randn(1, 3, 40, 56)
    for one, other in zip(backbone.eval()(image), again.eval()(image)):
        assert torch.equal(one, other)
