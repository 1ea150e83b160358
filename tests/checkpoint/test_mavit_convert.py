"""Conversion of MAViT files in the authors' wrapper."""

import argparse
import logging

import pytest
import torch
from golden import assert_golden, read_golden
from mmengine.logging import MMLogger
from mmengine.registry import MODELS
from torch import nn

from csan_mm.backbones import MAViT, SwinCSaN
from csan_mm.checkpoint import CheckpointError, convert_state_dict, guess_source, load_file

ARCH = {"embed_dims": (8, 16, 16, 24), "depths": (1, 2, 1, 1), "num_heads": (1, 2, 2, 3)}


def classifier_state(value: float) -> dict[str, torch.Tensor]:
    """What the authors' classifier saves: the backbone without output norms, then projection, batch norm and head."""
    model = MAViT(ARCH, norm_cfg=None)
    for parameter in model.parameters():
        nn.init.constant_(parameter, value)
    norm = {f"norm.{name}": tensor for name, tensor in nn.BatchNorm2d(32).state_dict().items()}
    head = {"proj.weight": torch.zeros(32, 24, 1, 1), "proj.bias": torch.zeros(32)}
    head |= {"head.weight": torch.zeros(10, 32, 1, 1), "head.bias": torch.zeros(10)}
    return {**model.state_dict(), **norm, **head}


@pytest.fixture
def authors_file(tmp_path):
    """The saver's whole dictionary, written from a DistributedDataParallel module."""
    content = {
        "model": {f"module.{name}": value for name, value in classifier_state(0.25).items()},
        "model_ema": classifier_state(0.5),
        "optimizer": {"state": {}, "param_groups": []},
        "epoch": 299,
        "args": argparse.Namespace(model="MAViT_T"),
    }
    torch.save(content, tmp_path / "mavit.pth")
    return tmp_path / "mavit.pth"


def load(path, **options) -> MAViT:
    init_cfg = {"type": "csan_mm.Pretrained", "checkpoint": str(path), "source": "mala"}
    model = MODELS.build({"type": "csan_mm.MAViT", "arch": ARCH, "init_cfg": init_cfg, **options})
    model.init_weights()
    return model


def test_averaged_weights_are_taken_and_the_head_is_left_out(authors_file):
    state = convert_state_dict(load_file(authors_file), "mala")
    assert state.keys() == MAViT(ARCH, norm_cfg=None).state_dict().keys()
    assert state["layers.3.blocks.0.gamma_1"].unique().tolist() == [0.5]


def test_without_averaged_weights_the_model_is_taken(tmp_path, authors_file):
    content = torch.load(authors_file, weights_only=False)
    del content["model_ema"]
    torch.save(content, tmp_path / "plain.pth")
    state = convert_state_dict(load_file(tmp_path / "plain.pth"), "mala")
    assert state.keys() == MAViT(ARCH, norm_cfg=None).state_dict().keys()
    assert state["layers.3.blocks.0.gamma_1"].unique().tolist() == [0.25]


def test_loading_reports_the_head_and_the_new_norms(authors_file):
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger = MMLogger.get_current_instance()
    logger.addHandler(handler)
    try:
        model = load(authors_file)
    finally:
        logger.removeHandler(handler)
    (line,) = [line for line in lines if "mavit.pth: loaded" in line]
    wanted = len(MAViT(ARCH, norm_cfg=None).state_dict())
    assert f"loaded {wanted}/{wanted}, ignored head.*, norm.*, proj.*, new norm0, norm1, norm2, norm3" in line
    assert model.layers[2].downsample.reduction.weight.unique().tolist() == [0.5]
    assert model.norm3.weight.unique().tolist() == [1.0]


def test_a_backbone_of_fewer_levels_takes_what_it_has(authors_file):
    model = load(authors_file, out_indices=(0, 1))
    assert model.layers[1].blocks[1].attn.qkvo.weight.unique().tolist() == [0.5]


def test_another_width_is_refused_and_named(authors_file):
    with pytest.raises(CheckpointError, match=r"the file looks like arch=dict\(embed_dims=\(8, 16, 16, 24\)"):
        load(authors_file, arch={**ARCH, "embed_dims": (16, 16, 16, 24)})


def test_the_layout_is_told_from_others():
    assert guess_source(classifier_state(0.0)) == "mala"
    with pytest.raises(CheckpointError, match=r"source='mala' does not fit .*look like source='csan-swin'"):
        convert_state_dict(
            SwinCSaN({"embed_dims": 16, "depths": (1,), "num_heads": (1,)}, out_indices=0).state_dict(), "mala"
        )


@torch.no_grad()
def test_golden_file_through_the_initializer(golden_dir):
    golden = read_golden(golden_dir, "mavit")
    dims = golden.arch("embed_dims", "depths", "num_heads")
    state = {name.removeprefix("state/"): value for name, value in golden.state.items()}
    model = MAViT(dims, norm_cfg=None).eval()
    model.load_state_dict(convert_state_dict(state, "mala"))
    assert_golden(model(golden.image)[-1], golden.outputs["stage3"])
