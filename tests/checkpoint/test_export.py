"""Exported files: the same numbers at sizes that were not traced, and none left where they differ."""

import importlib

import pytest
import torch
from mmengine.registry import MODELS, DefaultScope
from torch import Tensor, nn

import csan_mm  # noqa: F401
from csan_mm.checkpoint.export import ExportError, TensorOutputs, export_onnx, export_program

VIT = {
    "type": "csan_mm.ViTCSaN",
    "arch": {"embed_dims": 16, "depth": 2, "num_heads": 2},
    "img_size": 64,
    "patch_size": 8,
}
SLOW = {
    "swin-csan": {
        "type": "csan_mm.SwinCSaN",
        "arch": {"embed_dims": 16, "depths": (1, 2, 1, 1), "num_heads": (1, 2, 4, 4)},
        "version": "v2",
    },
    "hiera-csan": {"type": "csan_mm.HieraCSaN", "arch": {"embed_dims": 16, "depths": (1, 2, 2, 1), "num_heads": 1}},
    "vit-windowed": {**VIT, "with_cls_token": False, "window_size": 3},
    "vit-mala": {**VIT, "mixer": {"type": "mala", "gate": True, "local_enhancement": True}, "ffn": "conv-mlp"},
    "mavit": {
        "type": "csan_mm.MAViT",
        "arch": {"embed_dims": (16, 16, 32, 32), "depths": (1, 1, 1, 1), "num_heads": (1, 1, 2, 2)},
    },
    "weightformer": {
        "type": "csan_mm.WeightFormer",
        "arch": {"embed_dims": 16, "depth": 3},
        "dynamic": 2,
    },
    "cbt": {"type": "csan_mm.CBT", "arch": {"embed_dims": 16, "depth": 2, "num_heads": 2}},
}
SIZES = ((1, 5, 130), (2, 64, 64), (3, 75, 31))


@pytest.mark.parametrize(
    ("export", "mixer"), [(export_onnx, "csan"), (export_program, "csan"), (export_program, "mala")]
)
def test_vit_at_any_size(tmp_path, export, mixer):
    path = tmp_path / ("vit.onnx" if export is export_onnx else "vit.pt2")
    model = MODELS.build({**VIT, "mixer": mixer}).train()
    assert export(model, path, sizes=SIZES) < 1e-4
    assert model.training
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.slow
@pytest.mark.parametrize("export", [export_onnx, export_program])
@pytest.mark.parametrize("cfg", SLOW.values(), ids=SLOW)
def test_every_family_at_any_size(tmp_path, cfg, export):
    path = tmp_path / ("net.onnx" if export is export_onnx else "net.pt2")
    assert export(MODELS.build(cfg), path, sizes=SIZES) < 1e-4


RETINANET = {
    "type": "RetinaNet",
    "backbone": {**SLOW["swin-csan"], "norm_cfg": {"type": "LN"}},
    "neck": {"type": "FPN", "in_channels": [16, 32, 64, 128], "out_channels": 16, "num_outs": 5},
    "bbox_head": {
        "type": "RetinaHead",
        "num_classes": 4,
        "in_channels": 16,
        "feat_channels": 16,
        "stacked_convs": 1,
        "anchor_generator": {"type": "AnchorGenerator", "ratios": [1.0], "scales": [8], "strides": [4, 8, 16, 32, 64]},
    },
}
UPERNET = {
    "type": "EncoderDecoder",
    "backbone": {**SLOW["swin-csan"], "norm_cfg": {"type": "LN"}},
    "decode_head": {
        "type": "UPerHead",
        "in_channels": [16, 32, 64, 128],
        "in_index": [0, 1, 2, 3],
        "pool_scales": (1, 2, 3, 6),
        "channels": 16,
        "num_classes": 4,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("export", [export_onnx, export_program])
@pytest.mark.parametrize(("cfg", "scope"), [(RETINANET, "mmdet"), (UPERNET, "mmseg")], ids=["retinanet", "upernet"])
def test_whole_dense_models(tmp_path, cfg, scope, export):
    path = tmp_path / ("net.onnx" if export is export_onnx else "net.pt2")
    importlib.import_module(f"{scope}.models")
    with DefaultScope.overwrite_default_scope(scope):
        model = MODELS.build(cfg)
    assert export(TensorOutputs(model), path, sizes=((1, 24, 20), *SIZES[1:])) < 1e-4


class Pooled(nn.Module):
    """Exporters alone write this for the traced size."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)
        self.pools = nn.ModuleList([nn.AdaptiveAvgPool2d(3), nn.AdaptiveAvgPool2d((2, None))])

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(pool(self.conv(x)) for pool in self.pools)


@pytest.mark.parametrize("export", [export_onnx, export_program])
def test_adaptive_pooling_at_any_size(tmp_path, export):
    path = tmp_path / ("net.onnx" if export is export_onnx else "net.pt2")
    model = Pooled()
    assert export(model, path, sizes=((1, 2, 7), *SIZES)) < 1e-5
    assert "forward" not in vars(model.pools[0])


class Unequal(nn.Module):
    """A network whose captured form differs from itself: it looks at a value while it is not being captured."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        return y if torch.compiler.is_compiling() else y + 1


@pytest.mark.parametrize("export", [export_onnx, export_program])
def test_what_differs_is_not_delivered(tmp_path, export):
    path = tmp_path / ("net.onnx" if export is export_onnx else "net.pt2")
    with pytest.raises(ExportError, match=r"was not kept: with 1 images of 5x130 output 0 differs by"):
        export(Unequal(), path, sizes=SIZES)
    assert list(tmp_path.iterdir()) == []


def test_wrong_arguments_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.onnx"):
        export_onnx(MODELS.build(VIT), tmp_path / "vit.pt")
    with pytest.raises(ValueError, match="opset=11"):
        export_onnx(MODELS.build(VIT), tmp_path / "vit.onnx", opset=11)


def test_two_stage_detectors_are_refused_with_a_hint():
    model = nn.Module()
    model.bbox_head, model.roi_head = nn.Identity(), nn.Identity()
    with pytest.raises(ExportError, match="export its backbone"):
        TensorOutputs(model)
