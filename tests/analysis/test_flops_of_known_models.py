"""Counting models that mmdet and mmseg ship, made small: each parameter is in what ran, or is named as not counted."""

from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.utils import get_installed_path
from torch import nn

from csan_mm.analysis.flops import count_model, format_parts
from csan_mm.analysis.models import build_model

RESNET18 = {"depth": 18, "style": "pytorch", "init_cfg": None}
WIDTHS = [64, 128, 256, 512]
ENCODERS = {f"{part}.num_layers": 1 for part in ("encoder", "decoder")}
PIXELS = {"in_channels": WIDTHS, "pixel_decoder.encoder.num_layers": 1, "transformer_decoder.num_layers": 2}


def mask2former(head: str) -> dict:
    return {
        "backbone": {**RESNET18, "norm_cfg": {"type": "BN"}},
        **{f"{head}.{key}": value for key, value in PIXELS.items()},
    }


#: Name -> package, its config, what is smaller here, and the parts that inference has.
MODELS = {
    "Mask Scoring R-CNN": (
        "mmdet",
        "ms_rcnn/ms-rcnn_r50_fpn_1x_coco.py",
        {"backbone": RESNET18, "neck.in_channels": WIDTHS},
        ["backbone", "neck", "rpn_head", *(f"roi_head.{kind}_head" for kind in ("bbox", "mask", "mask_iou"))],
    ),
    "DETR": (
        "mmdet",
        "detr/detr_r18_8xb2-500e_coco.py",
        {"backbone": RESNET18, "num_queries": 10, **ENCODERS},
        ["backbone", "neck", "bbox_head", "encoder", "decoder", "query_embedding"],
    ),
    "DINO": (
        "mmdet",
        "dino/dino-4scale_r50_8xb2-12e_coco.py",
        {"backbone": RESNET18, "neck.in_channels": WIDTHS[1:], "num_queries": 10, **ENCODERS},
        [
            "backbone",
            "neck",
            "bbox_head",
            "encoder",
            "decoder",
            "query_embedding",
            "memory_trans_fc",
            "memory_trans_norm",
        ],
    ),
    "Mask2Former": (
        "mmdet",
        "mask2former/mask2former_r50_8xb2-lsj-50e_coco.py",
        mask2former("panoptic_head"),
        ["backbone", "panoptic_head"],
    ),
    "Mask2Former, panoptic": (
        "mmdet",
        "mask2former/mask2former_r50_8xb2-lsj-50e_coco-panoptic.py",
        mask2former("panoptic_head"),
        ["backbone", "panoptic_head"],
    ),
    "Mask2Former, semantic": (
        "mmseg",
        "mask2former/mask2former_r50_8xb2-160k_ade20k-512x512.py",
        mask2former("decode_head"),
        ["backbone", "decode_head"],
    ),
}


@pytest.fixture(params=MODELS)
def known(request):
    """A model with its parts' names; its weights are whatever the memory holds."""
    package, config, smaller, names = MODELS[request.param]
    cfg = Config.fromfile(Path(get_installed_path(package)) / ".mim/configs" / config)
    cfg.merge_from_dict({f"model.{key}": value for key, value in smaller.items()})
    with torch.device("meta"):
        model = build_model(cfg)
    return model.to_empty(device="cpu"), names


def test_every_parameter_is_counted_and_the_sum_is_inference(known):
    model, names = known
    parts = count_model(model, (64, 96), proposals=5, detections=3)
    assert {part.name for part in parts if not part.training_only} - {f"{type(model).__name__} itself"} >= set(names)
    assert all(part.counted for part in parts)
    assert sum(part.params for part in parts) == sum(value.numel() for value in model.parameters())
    norms_and_tables = ("query_embedding", "memory_trans_norm")
    assert all(part.macs > 0 for part in parts if part.name in names and part.name not in norms_and_tables)
    assert format_parts(parts).splitlines()[-1].split()[0] == "inference"


def test_a_part_that_inference_leaves_out_is_named_and_the_sum_is_called_otherwise(known):
    model, _ = known
    model.spare = nn.Linear(3, 5)
    model.backbone.spare = nn.Conv2d(3, 2, 1)
    parts = count_model(model, (64, 96), proposals=5, detections=3)
    assert [(part.name, part.params) for part in parts if not part.counted] == [("backbone.spare", 8), ("spare", 20)]
    assert sum(part.params for part in parts) == sum(value.numel() for value in model.parameters())
    assert format_parts(parts).splitlines()[-1].split()[0] != "inference"


@pytest.mark.parametrize("known", ["Mask Scoring R-CNN"], indirect=True)
def test_the_mask_scoring_head_by_hand(known):
    """Four convolutions, of which the last halves the map and the first takes the mask as one more channel; then three layers."""
    parts = {part.name: part for part in count_model(known[0], (64, 96), proposals=5, detections=3)}
    convolutions = 9 * (14**2 * (257 + 2 * 256) * 256 + 7**2 * 256**2)
    layers = 256 * 7**2 * 1024 + 1024**2 + 1024 * 80
    assert parts["roi_head.mask_iou_head"].macs == 3 * (convolutions + layers)


@pytest.mark.parametrize("known", ["DETR"], indirect=True)
def test_the_encoder_of_detr_by_hand(known):
    """On 2 x 3 cells: four projections, two products of tokens, and the feed-forward network of width 2048."""
    parts = {part.name: part for part in count_model(known[0], (64, 96))}
    assert parts["encoder"].macs == 4 * 6 * 256**2 + 2 * 6**2 * 256 + 2 * 6 * 256 * 2048
