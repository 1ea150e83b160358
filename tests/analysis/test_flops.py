"""Counting against formulas written by hand: layers, mixers, whole networks, and the parts of a detector."""

import logging
import runpy
import sys
from collections.abc import Callable

import pytest
import torch
from mmengine.config import Config
from torch import nn

from csan_mm.analysis.flops import count_macs, count_model, countable, format_parts, macs_by_operator, shapes_only
from csan_mm.analysis.models import build_model, training_shape
from csan_mm.backbones import HieraCSaN, SwinCSaN, ViTCSaN, WeightFormer
from csan_mm.layers.dynamic import DynamicLayer
from csan_mm.layers.positions import resized_bicubic
from csan_mm.mixers import CSaN, SoftmaxAttention


def unfilled(make: Callable[..., nn.Module], *args, **options) -> nn.Module:
    """A network whose weights are whatever the memory holds: drawing them would take longer than counting."""
    with torch.device("meta"):
        model = make(*args, **options)
    return model.to_empty(device="cpu")


@pytest.mark.parametrize(
    ("layer", "shape", "macs"),
    [
        (nn.Linear(8, 12), (5, 8), 5 * 8 * 12),
        (nn.Conv2d(6, 10, 3, padding=1), (2, 6, 7, 9), 2 * 7 * 9 * 6 * 10 * 9),
        (nn.Conv2d(6, 6, 3, stride=2, groups=6), (1, 6, 9, 9), 4 * 4 * 6 * 9),
        (nn.ConvTranspose2d(6, 4, 2, stride=2), (1, 6, 5, 5), 25 * 6 * 4 * 4),
        (nn.LayerNorm(8), (5, 8), 0),
    ],
    ids=["linear", "conv", "depth-wise", "transposed", "norm"],
)
def test_layers(layer, shape, macs):
    assert count_macs(layer, torch.empty(shape)) == macs


N, C, H = 30, 32, 2


def test_softmax_attention():
    """Queries, keys and values; scores; weighted values; projection. Fused on a CPU it would count as nothing."""
    assert count_macs(SoftmaxAttention(C, H), torch.empty(1, N, C)) == 3 * N * C**2 + 2 * N**2 * C + N * C**2


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_torchs_encoder_takes_no_fast_path(mode):
    """In eval mode nn.TransformerEncoder is one kernel a layer, of which a counter sees nothing."""
    layer = nn.TransformerEncoderLayer(C, H, dim_feedforward=48, dropout=0.0, batch_first=True)
    encoder = getattr(nn.TransformerEncoder(layer, 3), mode)()
    before = torch.backends.mha.get_fastpath_enabled()
    assert count_macs(encoder, torch.zeros(1, N, C)) == 3 * (4 * N * C**2 + 2 * N**2 * C + 2 * N * C * 48)
    assert torch.backends.mha.get_fastpath_enabled() == before


def test_csan_counts_the_row_mean():
    """As softmax attention, the scores once more for e, and the signal's layers: u, reduce, ka, kv, magk, temp."""
    hidden = 24
    signal = N * C * C // 4 + N * C // 4 * hidden + 2 * N * hidden * C + 2 * N * hidden * H
    macs = 3 * N * C**2 + 3 * N**2 * C + N * C**2 + signal
    assert count_macs(CSaN(C, H, kappa="bounded"), torch.empty(1, N, C)) == macs


def test_swin_tiny_by_hand():
    """The 4.5 G of the Swin paper, block by block; the biased, windowed attention takes the explicit path."""
    macs = 56 * 56 * 48 * 96
    for stage, depth in enumerate((2, 2, 6, 2)):
        side, width = 56 >> stage, 96 << stage
        tokens = side * side
        macs += depth * (12 * tokens * width**2 + 2 * tokens * 49 * width)
        macs += (tokens // 4 * 8 * width**2) if stage < 3 else 0
    (part,) = count_model(unfilled(SwinCSaN, "tiny", mixer="softmax"), (224, 224))
    assert part.macs == macs
    assert part.flops == 2 * macs
    assert round(part.macs / 1e9, 1) == 4.5


def deit_macs(tokens: int, width: int, depth: int) -> int:
    return tokens * 768 * width + depth * (12 * tokens * width**2 + 2 * tokens**2 * width)


@pytest.mark.parametrize("side", [224, 512])
def test_deit_by_hand(side):
    model = unfilled(ViTCSaN, "small", mixer="softmax", with_cls_token=False, out_type="avg_featmap")
    assert count_model(model, (side, side))[0].macs == deit_macs((side // 16) ** 2, 384, 12)


def weightformer_macs(side: int, width: int, papers_order: bool = True) -> int:
    """17 blocks, six of them dynamic; the product of the dynamic matrix in the paper's order or the cheaper one."""
    tokens, n = (side // 16) ** 2, (side // 32) ** 2
    plain = tokens * 768 * width + 17 * tokens * (9 * width + 8 * width**2)
    quarter = width // 4
    tokens_last = n * (quarter * width + width * 4 * width + width * 4 * width)
    tokens_first = n * quarter * width + quarter * width * 4 * width + width * quarter * 4 * width
    best = tokens_last if papers_order else min(tokens_last, tokens_first)
    pooling = 3 * tokens * width + 9 * side // 16 * width
    return plain + 6 * (n * width * (quarter + width) + best + 18 * width**2 + pooling)


@pytest.mark.parametrize(
    ("arch", "side", "width", "paper"),
    [("tiny", 224, 192, 1.129), ("small", 224, 384, 4.438), ("base", 448, 384, 17.703)],
    ids=["tiny", "small", "base"],
)
def test_weightformer_by_hand(arch, side, width, paper):
    """The paper's figures are reached within 1 % in the paper's order (it also counts the norms); ours is never above them."""
    (part,) = count_model(unfilled(WeightFormer, arch), (side, side))
    assert part.macs == weightformer_macs(side, width, papers_order=False)
    assert weightformer_macs(side, width) / 1e9 == pytest.approx(paper, rel=0.01)
    assert part.macs <= paper * 1e9


def test_dynamic_layers_say_their_share():
    model = unfilled(WeightFormer, "tiny")
    (part,) = count_model(model, (200, 336))
    grid = (13, 21)
    layers = [layer for layer in model.modules() if isinstance(layer, DynamicLayer)]
    assert len(layers) == 12
    assert part.dynamic_macs == sum(layer.prediction_macs(grid) for layer in layers)


@pytest.fixture(scope="module")
def detector(repo_root):
    cfg = Config.fromfile(repo_root / "configs/_base_/models/mask-rcnn.py")
    cfg.default_scope = "mmdet"
    backbone = {"type": "csan_mm.WeightFormer", "arch": {"embed_dims": 16, "depth": 4}, "out_indices": (0, 1, 2, 3)}
    cfg.merge_from_dict({"model": {"backbone": {**backbone, "out_type": "pyramid"}, "neck": {"in_channels": [16] * 4}}})
    return unfilled(build_model, cfg)


def test_parts_of_a_two_stage_detector_by_hand(detector):
    parts = {part.name: part for part in count_model(detector, (96, 160), proposals=200, detections=7)}
    assert list(parts) == ["backbone", "neck", "rpn_head", "roi_head.bbox_head", "roi_head.mask_head"]
    cells = [24 * 40, 12 * 20, 6 * 10, 3 * 5]
    assert parts["neck"].macs == sum(n * (16 * 256 + 9 * 256**2) for n in cells)
    assert parts["rpn_head"].macs == sum(n * (9 * 256**2 + 256 * 15) for n in [*cells, 2 * 3])
    assert parts["roi_head.bbox_head"].macs == 200 * (256 * 49 * 1024 + 1024**2 + 1024 * (81 + 320))
    mask = 4 * 14 * 14 * 9 * 256**2 + 14 * 14 * 4 * 256**2 + 28 * 28 * 256 * 80
    assert parts["roi_head.mask_head"].macs == 7 * mask
    assert sum(part.params for part in parts.values()) == sum(p.numel() for p in detector.parameters())


def test_counting_leaves_the_model_as_it_was(detector):
    detector.train()
    detector.backbone.blocks[2].eval()
    modes = [module.training for module in detector.modules()]
    for value in detector.state_dict().values():
        value.fill_(1)
    count_model(detector, (64, 64), proposals=2, detections=2)
    assert [module.training for module in detector.modules()] == modes
    assert all((value == 1).all() for value in detector.state_dict().values())
    assert not any(module._forward_hooks for module in detector.modules())


def test_a_segmentors_auxiliary_head_is_for_training_only(repo_root):
    cfg = Config.fromfile(repo_root / "configs/digits/swin-csan-c48_upernet_1xb8-1k_digits-128x128.py")
    parts = {part.name: part for part in count_model(build_model(cfg), (64, 64))}
    assert [name for name, part in parts.items() if part.training_only] == ["auxiliary_head"]
    assert parts["auxiliary_head"].macs == 4 * 4 * (9 * 192 * 48 + 48 * 11)
    table = format_parts(list(parts.values())).splitlines()
    used = parts["backbone"].macs + parts["decode_head"].macs
    assert table[-1].split() == ["inference", f"{used / 1e9:.3f}", f"{2 * used / 1e9:.3f}", table[-1].split()[-1]]


def test_what_cannot_be_counted_is_named(caplog):
    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = nn.Conv2d(3, 4, 1)
            self.encoder = nn.Linear(4, 4)

    from mmengine.logging import MMLogger

    logger = MMLogger.get_current_instance()
    logger.addHandler(caplog.handler)
    try:
        with caplog.at_level(logging.WARNING):
            parts = count_model(Detector(), (2, 2))
            assert [(part.name, part.macs, part.params, part.counted) for part in parts] == [
                ("backbone", 4 * 12, 16, True),
                ("encoder", 0, 20, False),
            ]
            assert format_parts(parts).splitlines()[-1].split()[0] != "inference"
    finally:
        logger.removeHandler(caplog.handler)
    assert "not counted, they took no part in what ran of Detector: encoder" in caplog.text


@pytest.mark.parametrize(
    ("config", "shape"),
    [
        ("csan/swin-csan-t_8xb256_in1k.py", (224, 224)),
        ("csan/swin-csan-t_upernet_8xb2-160k_ade20k-512x512.py", (512, 512)),
        ("digits/swin-csan-c48_upernet_1xb8-1k_digits-128x128.py", (128, 128)),
        ("csan/mask-rcnn_swin-csan-t_fpn_1x_coco.py", (800, 1280)),
        ("weightformer/mask-rcnn_weightformer-t_simple-fpn_lsj-100e_coco.py", (1024, 1024)),
    ],
    ids=["classification", "segmentation", "padding", "detection", "large-scale-jitter"],
)
def test_size_an_image_is_trained_at(repo_root, config, shape):
    assert training_shape(Config.fromfile(repo_root / "configs" / config)) == shape


def test_command(repo_root, monkeypatch, capsys):
    tool = repo_root / "tools/analysis_tools/get_flops.py"
    config = repo_root / "configs/digits/swin-csan-c48_1xb32-12e_digits-cls.py"
    monkeypatch.setattr(sys, "argv", [str(tool), str(config), "--shape", "40", "64"])
    runpy.run_path(str(tool), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert any(line.endswith("one image of 40 x 64 (H x W)") for line in lines)
    assert [line.split()[0] for line in lines[-4:]] == ["backbone", "neck", "head", "inference"]
    monkeypatch.setattr(sys, "argv", [str(tool), "missing.py"])
    with pytest.raises(SystemExit):
        runpy.run_path(str(tool), run_name="__main__")
    assert "error: config missing.py does not exist" in capsys.readouterr().err


def test_resizing_positions_counts_nothing_and_gives_what_it_gives():
    """Without a product, and so without a count; Hiera's window embedding is stretched at every size."""
    maps = torch.randn(2, 3, 4, 5, dtype=torch.double)
    expected = resized_bicubic(maps, (7, 6))
    with countable():
        torch.testing.assert_close(resized_bicubic(maps, (7, 6)), expected)
    model = unfilled(HieraCSaN, "tiny", abs_win_pos_embed=True)
    with shapes_only():
        assert macs_by_operator(model, torch.empty(1, 3, 256, 320)).get("bmm", 0) == 0
