"""Faster R-CNN, DINO, Mask2Former and RTMDet with a backbone of each family: two training steps and an evaluation by the Runner.

On real files of COCO, and on the digits in ADE20K's form.
"""

from pathlib import Path

import pytest
from mmengine.config import Config
from mmengine.runner import Runner

from csan_mm.datasets import DigitsSpec, build_digits

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
SIDE = 128
NETWORKS = {"csan": "swin-csan-t", "mala": "mavit-t", "weightformer": "weightformer-s"}
DETECTORS = {
    "faster-rcnn_{}_fpn_1x_coco": "FasterRCNN",
    "dino-4scale_{}_8xb2-12e_coco": "DINO",
    "mask2former_{}_8xb2-lsj-50e_coco": "Mask2Former",
    "rtmdet_{}_8xb16-100e_coco": "RTMDet",
}


def shorten(cfg: Config, work_dir: Path) -> None:
    """Two iterations on small images, in this process and without pretrained weights."""
    cfg.work_dir = str(work_dir)
    cfg.model.backbone.init_cfg = None
    cfg.model.data_preprocessor.pop("batch_augments", None)
    cfg.train_cfg = {"type": "IterBasedTrainLoop", "max_iters": 2, "val_interval": 2}
    cfg.default_hooks.checkpoint = {"type": "CheckpointHook", "by_epoch": False, "interval": 2}
    cfg.custom_hooks = []
    cfg.param_scheduler = []
    cfg.env_cfg.dist_cfg = {"backend": "gloo"}
    for name in ("train_dataloader", "val_dataloader", "test_dataloader"):
        cfg[name].update(num_workers=0, persistent_workers=False, batch_size=2 if name[0] == "t" else 1)
        cfg[name].pop("pin_memory", None)
        cfg[name].dataset.indices = 4
    cfg.train_dataloader.sampler = {"type": "InfiniteSampler", "shuffle": False}
    cfg.train_dataloader.batch_sampler = None


@pytest.mark.slow
@pytest.mark.parametrize("folder", NETWORKS)
@pytest.mark.parametrize("name", DETECTORS)
def test_on_coco(name: str, folder: str, coco_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COCO_ROOT", str(coco_root))
    cfg = Config.fromfile(CONFIGS / folder / f"{name.format(NETWORKS[folder])}.py")
    assert cfg.model.type == DETECTORS[name]
    shorten(cfg, tmp_path)
    masks = {"with_mask": True} if cfg.model.type == "Mask2Former" else {}
    resize = {"type": "Resize", "scale": (SIDE, SIDE), "keep_ratio": True}
    cfg.train_dataloader.dataset.pipeline = [
        {"type": "LoadImageFromFile"},
        {"type": "LoadAnnotations", "with_bbox": True, **masks},
        resize,
        {"type": "PackDetInputs"},
    ]
    cfg.val_dataloader.dataset.pipeline[1] = resize
    if cfg.model.type == "DINO":
        cfg.model.num_queries = 50  # these images have fewer tokens than 900
    if "rcnn" in (cfg.model.test_cfg or {}):
        cfg.model.test_cfg.rcnn.update(score_thr=0.0, max_per_img=10)  # a detector hardly trained is sure of nothing
    figures = run(cfg)
    kinds = {"bbox", "segm"} if masks else {"bbox"}
    assert {f"coco/{kind}_mAP" for kind in kinds} <= set(figures)
    assert all(0 <= figures[f"coco/{kind}_mAP"] <= 1 for kind in kinds)


@pytest.mark.slow
@pytest.mark.parametrize("folder", NETWORKS)
def test_on_ade20k(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_digits(tmp_path / "digits", DigitsSpec(train_count=4, val_count=4), forms=("ade20k",))
    monkeypatch.setenv("ADE20K_ROOT", str(tmp_path / "digits" / "ade20k"))
    cfg = Config.fromfile(CONFIGS / folder / f"{NETWORKS[folder]}_mask2former_8xb2-160k_ade20k-512x512.py")
    shorten(cfg, tmp_path / "run")
    cfg.model.data_preprocessor.size = (SIDE, SIDE)
    cfg.train_dataloader.dataset.pipeline = [
        {"type": "LoadImageFromFile"},
        {"type": "LoadAnnotations", "reduce_zero_label": True},
        {"type": "PackSegInputs"},
    ]
    cfg.val_dataloader.dataset.pipeline[1].scale = (SIDE, SIDE)
    assert 0 <= run(cfg)["mIoU"] <= 100


def run(cfg: Config) -> dict[str, float]:
    """Train, with an evaluation at the end, and test; the test's figures."""
    cfg.test_dataloader, cfg.test_evaluator = cfg.val_dataloader, cfg.val_evaluator
    runner = Runner.from_cfg(cfg)
    runner.train()
    assert runner.iter == 2
    return runner.test()
