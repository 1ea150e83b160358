"""The data set bases on real files: COCO's on the tiny COCO, ADE20K's and ImageNet's on the digits in these forms."""

from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import DATASETS, DefaultScope

from csan_mm.datasets import DIGITS_METAINFO, DIGITS_SEG_METAINFO, DigitsSpec, build_digits

BASES = Path(__file__).resolve().parents[2] / "configs" / "_base_" / "datasets"


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data") / "digits"
    build_digits(root, DigitsSpec(train_count=12, val_count=4))
    return root


def samples(cfg: Config, scope: str, split: str, count: int) -> list[dict]:
    """The first samples of a split, through its whole pipeline."""
    with DefaultScope.overwrite_default_scope(scope):
        dataset = DATASETS.build(cfg[f"{split}_dataloader"].dataset)
        return [dataset[i] for i in range(count)]


@pytest.mark.parametrize("name", ["coco_detection", "coco_instance", "coco_instance_ms", "coco_instance_lsj"])
def test_coco(name: str, coco_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COCO_ROOT", str(coco_root))
    cfg = Config.fromfile(BASES / f"{name}.py")
    for split in ("train", "val"):
        for sample in samples(cfg, "mmdet", split, 3):
            height, width = sample["inputs"].shape[1:]
            assert max(height, width) <= 1333
            if name == "coco_instance_lsj":
                assert (height, width) == (1024, 1024)
            truth = sample["data_samples"].gt_instances
            assert len(truth) > 0
            assert ("masks" in truth) == (split == "train" and name != "coco_detection")
    assert cfg.val_evaluator == cfg.test_evaluator
    assert cfg.val_evaluator.metric == ("bbox" if name == "coco_detection" else ["bbox", "segm"])


def test_ade20k(digits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADE20K_ROOT", str(digits / "ade20k"))
    cfg = Config.fromfile(BASES / "ade20k.py")
    for sample in samples(cfg, "mmseg", "train", 3):
        resized = [round(128 * factor) for factor in sample["data_samples"].scale_factor]
        assert list(sample["inputs"].shape[1:]) == [
            min(512, side) for side in resized
        ]  # a crop, or all of a smaller image
        assert all(256 <= side <= 1024 for side in resized)
    for sample in samples(cfg, "mmseg", "val", 3):
        labels = sample["data_samples"].gt_sem_seg.data
        assert labels.shape == (1, 128, 128)
        assert set(labels.unique().tolist()) <= {*range(10), 255}  # 0, the photograph, is ignored


def test_imagenet(digits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGENET_ROOT", str(digits / "imagenet"))
    cfg = Config.fromfile(BASES / "imagenet.py")
    for split in ("train", "val"):
        cfg[f"{split}_dataloader"].dataset.metainfo = {"classes": DIGITS_METAINFO["classes"]}
        for sample in samples(cfg, "mmpretrain", split, 3):
            assert sample["inputs"].shape == (3, 224, 224)


def test_digits(digits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIGITS_ROOT", str(digits))
    for name in ("digits_detection", "digits_instance"):
        cfg = Config.fromfile(BASES / f"{name}.py")
        assert list(cfg.metainfo.classes) == list(DIGITS_METAINFO["classes"])
        assert [list(colour) for colour in cfg.metainfo.palette] == DIGITS_METAINFO["palette"]
        truth = [sample["data_samples"].gt_instances for sample in samples(cfg, "mmdet", "train", 3)]
        assert all(("masks" in instances) == (name == "digits_instance") for instances in truth)
        if name == "digits_instance":
            for mask, box in zip(truth[0].masks.masks, truth[0].bboxes.tensor):
                left, top, right, bottom = box.int().tolist()
                assert mask.sum() == mask[top:bottom, left:right].sum() > 0
    cfg = Config.fromfile(BASES / "digits_segmentation.py")
    assert list(cfg.metainfo.classes) == list(DIGITS_SEG_METAINFO["classes"])
    assert [list(colour) for colour in cfg.metainfo.palette] == DIGITS_SEG_METAINFO["palette"]
    labels = torch.cat([s["data_samples"].gt_sem_seg.data.flatten() for s in samples(cfg, "mmseg", "train", 3)])
    assert 0 in labels
    assert labels.max() <= 10
    cfg = Config.fromfile(BASES / "digits_classification.py")
    assert cfg.classes == list(DIGITS_METAINFO["classes"])
    first = samples(cfg, "mmpretrain", "train", 1)[0]
    assert first["inputs"].shape == (3, 128, 128)
    assert first["data_samples"].gt_label.item() == 0
