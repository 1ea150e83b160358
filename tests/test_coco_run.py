"""The COCO configs on pictures like COCO's (crowd boxes, an image without boxes, any aspect ratio), by the command-line tools."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: 8 images at batch 2 are 4 iterations. No score threshold: hardly trained detectors are sure of nothing.
FOUR_ITERATIONS = ["train_cfg.max_epochs=1", "train_dataloader.dataset.indices=8", "default_hooks.logger.interval=1"]
NO_WORKERS = [
    f"{split}_dataloader.{option}"
    for split in ("train", "val", "test")
    for option in ("num_workers=0", "persistent_workers=False")
]
SMALL_IMAGES = [
    "train_dataloader.dataset.pipeline.2.scale=(160,128)",
    "val_dataloader.dataset.pipeline.1.scale=(160,128)",
    "test_dataloader.dataset.pipeline.1.scale=(160,128)",
]


def run(tool: str, *args: str | Path, coco_root: Path, cwd: Path) -> str:
    """Run a tool on the tiny COCO, from a folder that is not the repository; its output."""
    env = {**os.environ, "COCO_ROOT": str(coco_root), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, ROOT / "tools" / tool, *args]
    done = subprocess.run(
        [str(part) for part in command], env=env, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def train_and_test(name: str, options: list[str], threshold: str, coco_root: Path, tmp_path: Path) -> dict[str, float]:
    """Train four iterations, evaluate the checkpoint in a second process; COCO's figures.

    Only the training is told to start without pretrained weights: an evaluation must not look for them.
    """
    config = ROOT / "configs" / "csan" / name
    work_dir = tmp_path / "run"
    options = [*FOUR_ITERATIONS, *NO_WORKERS, *options, f"{threshold}=0.0"]
    where = {"coco_root": coco_root, "cwd": tmp_path}
    log = run(
        "train.py", config, "--work-dir", work_dir, "--cfg-options", *options, "model.backbone.init_cfg=None", **where
    )
    assert "[4/4]" in log or "[5/5]" in log  # upright and lying images do not share a batch
    checkpoint = work_dir / "epoch_1.pth"
    assert checkpoint.is_file()
    run("test.py", config, checkpoint, "--work-dir", tmp_path / "test", "--cfg-options", *options, **where)
    results = list((tmp_path / "test").glob("*/*.json"))
    assert len(results) == 1
    return json.loads(results[0].read_text())


def check_figures(figures: dict[str, float], kind: str) -> None:
    for name in ("mAP", "mAP_50", "mAP_75", "mAP_s", "mAP_m", "mAP_l"):
        assert 0 <= figures[f"coco/{kind}_{name}"] <= 1


def test_retinanet(coco_root: Path, tmp_path: Path) -> None:
    options = [*SMALL_IMAGES, "model.backbone.arch=min"]
    figures = train_and_test(
        "retinanet_swin-csan-t_fpn_1x_coco.py", options, "model.test_cfg.score_thr", coco_root, tmp_path
    )
    check_figures(figures, "bbox")


@pytest.mark.slow
def test_mask_rcnn(coco_root: Path, tmp_path: Path) -> None:
    options = [*SMALL_IMAGES, "model.backbone.arch=min", "model.test_cfg.rcnn.max_per_img=10"]
    figures = train_and_test(
        "mask-rcnn_swin-csan-t_fpn_1x_coco.py", options, "model.test_cfg.rcnn.score_thr", coco_root, tmp_path
    )
    check_figures(figures, "bbox")
    check_figures(figures, "segm")


@pytest.mark.slow
def test_full_size(coco_root: Path, tmp_path: Path) -> None:
    options = ["val_dataloader.dataset.indices=4"]
    figures = train_and_test(
        "retinanet_swin-csan-v2-t_fpn_1x_coco.py", options, "model.test_cfg.score_thr", coco_root, tmp_path
    )
    check_figures(figures, "bbox")
