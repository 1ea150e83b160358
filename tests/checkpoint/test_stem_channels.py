"""Images of other than three channels: counting, exporting, and starting from RGB weights."""

import copy

import pytest
import torch
from mmengine.registry import MODELS, DefaultScope
from safetensors.torch import save_file
from torch import nn

import csan_mm  # noqa: F401
from csan_mm.analysis.flops import count_model
from csan_mm.checkpoint import pretrained
from csan_mm.checkpoint.export import TensorOutputs, export_onnx, export_program
from csan_mm.layers.stem import first_convolution, image_channels

SWIN = {"arch": {"embed_dims": 16, "depths": (1, 1), "num_heads": (1, 2)}, "out_indices": (0, 1)}
FAMILIES = {
    "swin": {"type": "csan_mm.SwinCSaN", **SWIN},
    "vit": {"type": "csan_mm.ViTCSaN", "arch": {"embed_dims": 16, "depth": 2, "num_heads": 2}, "img_size": 64},
    "hiera": {
        "type": "csan_mm.HieraCSaN",
        "arch": {"embed_dims": 16, "depths": (1, 1), "num_heads": 1},
        "out_indices": (0, 1),
    },
    "mavit": {
        "type": "csan_mm.MAViT",
        "arch": {"embed_dims": (8, 16), "depths": (1, 1), "num_heads": (1, 2)},
        "attention": ("mala", "softmax"),
        "out_indices": (0, 1),
    },
    "weightformer": {"type": "csan_mm.WeightFormer", "arch": {"embed_dims": 16, "depth": 2}, "dynamic": 2},
    "cbt": {"type": "csan_mm.CBT", "arch": {"embed_dims": 16, "depth": 2, "num_heads": 2}, "img_size": 64},
}
families = pytest.mark.parametrize("family", FAMILIES)


def build(family: str, **options) -> nn.Module:
    return MODELS.build({**copy.deepcopy(FAMILIES[family]), **options})


@families
def test_counted(family):
    (three,) = count_model(build(family), (64, 96))
    (seven,) = count_model(build(family, in_channels=7), (64, 96))
    _, stem = first_convolution(build(family, in_channels=7))
    cells = (64 // stem.stride[0]) * (96 // stem.stride[1])
    assert seven.macs - three.macs == 4 * cells * stem.out_channels * stem.kernel_size[0] * stem.kernel_size[1]


@pytest.mark.parametrize(
    "family", [family if family == "vit" else pytest.param(family, marks=pytest.mark.slow) for family in FAMILIES]
)
def test_exported_as_a_program(family, tmp_path):
    assert export_program(build(family, in_channels=4), tmp_path / "net.pt2", sizes=((1, 40, 70),)) < 1e-4


@pytest.mark.slow
@families
def test_exported_as_onnx(family, tmp_path):
    import onnx

    assert export_onnx(build(family, in_channels=1), tmp_path / "net.onnx", sizes=((2, 40, 70),)) < 1e-4
    shape = onnx.load(tmp_path / "net.onnx").graph.input[0].type.tensor_type.shape
    assert shape.dim[1].dim_value == 1


def test_a_whole_model_is_asked_for_its_backbone():
    import mmdet.models  # noqa: F401

    head = {"type": "RetinaHead", "num_classes": 2, "in_channels": 8, "feat_channels": 8, "stacked_convs": 1}
    model = {
        "type": "RetinaNet",
        "backbone": {**FAMILIES["swin"], "in_channels": 5},
        "neck": {"type": "FPN", "in_channels": [16, 32], "out_channels": 8, "num_outs": 5},
        "bbox_head": head,
    }
    with DefaultScope.overwrite_default_scope("mmdet"):
        network = MODELS.build(model)
    assert image_channels(network) == image_channels(TensorOutputs(network)) == 5
    assert {part.name for part in count_model(network, (64, 64))} == {"backbone", "neck", "bbox_head"}


@pytest.fixture
def lines(monkeypatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(pretrained, "print_log", lambda message, **_: found.append(message))
    return found


@families
@pytest.mark.parametrize("channels", [1, 2, 5])
def test_rgb_weights_start_another_number_of_channels(family, channels, tmp_path, lines):
    rgb = build(family)
    save_file(rgb.state_dict(), tmp_path / "rgb.safetensors")
    init_cfg = {"type": "csan_mm.Pretrained", "checkpoint": str(tmp_path / "rgb.safetensors")}
    model = build(family, in_channels=channels, init_cfg=init_cfg)
    model.init_weights()
    name, stem = first_convolution(model)
    theirs = first_convolution(rgb)[1].weight
    if channels == 1:
        torch.testing.assert_close(stem.weight, theirs.sum(dim=1, keepdim=True))
    else:
        for i in range(channels):
            torch.testing.assert_close(stem.weight[:, i], theirs[:, i % 3] * 3 / channels)
    rest = {key: value for key, value in model.state_dict().items() if key != f"{name}.weight"}
    assert all(torch.equal(value, rgb.state_dict()[key]) for key, value in rest.items())
    assert f"adapted {name} from RGB to {channels} channels" in lines[-1]


def test_weights_of_other_channels_are_not_mixed(tmp_path, lines):
    """Four channels are no RGB: what they stand for is not known."""
    save_file(build("swin", in_channels=4).state_dict(), tmp_path / "four.safetensors")
    init_cfg = {"type": "csan_mm.Pretrained", "checkpoint": str(tmp_path / "four.safetensors"), "min_match": 0.9}
    build("swin", in_channels=6, init_cfg=init_cfg).init_weights()
    assert "of another shape: patch_embed.proj.weight (16, 4, 4, 4) for (16, 6, 4, 4)" in lines[-1]
