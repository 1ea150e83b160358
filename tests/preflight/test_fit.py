"""Backbone, neck and heads that do not fit are named in the config's words, in all three libraries."""

from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.model import BaseModel
from mmengine.registry import MODELS, init_default_scope

from csan_mm.common.errors import UserError
from csan_mm.preflight.fit import misfits, require_fit

ROOT = Path(__file__).resolve().parents[2] / "configs"


class Parts(BaseModel):
    """The backbone alone is what is looked at of a built model."""

    def __init__(self, backbone: dict) -> None:
        super().__init__()
        self.backbone = MODELS.build(backbone)

    def forward(self) -> None:
        raise NotImplementedError


BACKBONE = {"type": "csan_mm.SwinCSaN", "arch": "min", "out_indices": (0, 1, 2, 3), "init_cfg": None}
DIMS = [64, 128, 256, 512]
FPN = {"type": "FPN", "in_channels": DIMS, "out_channels": 256, "num_outs": 5}
SOURCE = "SwinCSaN with out_indices=(0, 1, 2, 3)"


def said(backbone: dict | None = None, **settings: object) -> list[str]:
    init_default_scope("mmdet")
    return list(misfits(Parts({**BACKBONE, **(backbone or {})}), settings))


@pytest.fixture(scope="module", autouse=True)
def _dims() -> None:
    DIMS[:] = MODELS.build(BACKBONE).channels


def test_what_fits_is_silent():
    heads = {"bbox_head": {"in_channels": 256, "anchor_generator": {"strides": [8, 16, 32, 64, 128]}}}
    assert said(neck=FPN, **heads) == []
    upernet = {"in_channels": DIMS, "in_index": [0, 1, 2, 3]}
    assert said(decode_head=upernet, auxiliary_head=[{"in_channels": DIMS[2], "in_index": 2}]) == []
    assert said(neck={"type": "GlobalAveragePooling"}, head={"in_channels": DIMS[-1]}) == []


def test_neck():
    wrong = [96, 192, 384, 769]
    assert said(neck={**FPN, "in_channels": wrong}) == [
        f"neck.in_channels={wrong} but {SOURCE} returns {DIMS} channels: correct one of them"
    ]
    three = said({"out_indices": (1, 2, 3)}, neck=FPN)
    assert three[0].startswith(f"neck.in_channels={DIMS} but SwinCSaN with out_indices=(1, 2, 3) returns {DIMS[1:]} ")


def test_dense_and_region_heads():
    assert said(neck=FPN, rpn_head={"in_channels": 128})[0].startswith(
        "rpn_head.in_channels=128 but neck (FPN) returns 5 times 256 channels"
    )
    strides = {"in_channels": 256, "anchor_generator": {"strides": [4, 8, 16, 32]}}
    assert "strides=[4, 8, 16, 32] are of 4 maps but neck (FPN) returns 5" in said(neck=FPN, bbox_head=strides)[0]
    extractor = {"out_channels": 64, "featmap_strides": [4, 8, 16, 32]}
    roi = {"mask_roi_extractor": extractor, "mask_head": {"in_channels": 32}}
    sentences = said(neck=FPN, roi_head=roi)
    assert sentences[0].startswith("roi_head.mask_roi_extractor.out_channels=64 but neck (FPN)")
    assert sentences[1].startswith("roi_head.mask_head.in_channels=32 but roi_head.mask_roi_extractor returns [64]")


def test_decode_and_auxiliary_heads():
    wrong = {"in_channels": [1, 2, 3, 4], "in_index": [0, 1, 2, 3]}
    assert said(decode_head=wrong)[0].startswith(f"decode_head.in_channels=[1, 2, 3, 4] but {SOURCE} returns {DIMS}")
    assert "at in_index=2" in said(auxiliary_head=[{"in_channels": 7, "in_index": 2}])[0]
    assert said({"out_indices": (3,)}, auxiliary_head={"in_channels": 7, "in_index": 2})[0].startswith(
        "auxiliary_head.in_index=2 but SwinCSaN with out_indices=(3,) returns 1 map:"
    )


def test_classifier():
    sentence = said(neck={"type": "GlobalAveragePooling"}, head={"in_channels": 7})[0]
    assert sentence.startswith(f"head.in_channels=7 but {SOURCE} returns [{DIMS[-1]}] channels")


def test_a_backbone_of_another_package_is_run_once():
    import mmdet.models  # noqa: F401

    resnet = {"type": "mmdet.ResNet", "depth": 18, "out_indices": (1, 2, 3)}
    model = Parts(resnet)
    model.backbone.layer1[0].eval()
    modes = [module.training for module in model.modules()]
    assert list(misfits(model, {"neck": {**FPN, "in_channels": [128, 256, 512]}})) == []
    assert [module.training for module in model.modules()] == modes
    with pytest.raises(
        UserError, match=r"neck.in_channels=\[1\] but ResNet with out_indices=\(1, 2, 3\) returns \[128, 256"
    ):
        require_fit(model, {"neck": {**FPN, "in_channels": [1]}})


@pytest.mark.slow
def test_all_shipped_configs_fit():
    paths = sorted(path for path in ROOT.rglob("*.py") if "_base_" not in path.parts)
    seen = 0
    for path in paths:
        cfg = Config.fromfile(path)
        if "backbone" not in cfg.get("model", {}):
            continue
        init_default_scope(cfg.default_scope)
        with torch.device("meta"):
            model = Parts({**cfg.model.backbone, "init_cfg": None})
        assert list(misfits(model, cfg.model)) == [], path
        seen += 1
    assert seen > 20
