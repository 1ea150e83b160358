"""From nothing to a trained detector in minutes, on a CPU: digits, RetinaNet with Swin-CSaN, COCO's metric, two pictures.

Writes the digits data set, trains configs/digits/retinanet_swin-csan-c48_fpn_12e_digits.py from scratch, evaluates on digits
that were not in the training, and draws. What a finished run left in the folder is used again.

Example:
    python tools/demo.py --out work_dirs/demo
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import matplotlib
import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmengine.runner import Runner
from rich.console import Console
from rich.table import Table

from csan_mm.checkpoint.files import replacing
from csan_mm.common.data_root import override_data_root
from csan_mm.datasets import DigitsExistError, DigitsSpec, build_digits
from csan_mm.engine import CPUThreadsHook

matplotlib.use("Agg")
from matplotlib import pyplot as plt

CONFIG = Path(__file__).resolve().parents[1] / "configs/digits/retinanet_swin-csan-c48_fpn_12e_digits.py"
RECORD = "finished.json"
ZOOM = 3  # the images are 128 x 128
COLUMNS, ROWS = 2, 5
SCORE = 0.5  # predictions below are not drawn
AP_NAMES = {"AP": "mAP", "AP50": "mAP_50", "AP75": "mAP_75", "AP_S": "mAP_s", "AP_M": "mAP_m"}


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("work_dirs/demo"), help="folder for everything; %(default)s")
    parser.add_argument("--epochs", type=int, default=11, help="epochs to train; %(default)s by default")
    parser.add_argument("--train-count", type=int, default=1300, help="training images; %(default)s by default")
    parser.add_argument("--val-count", type=int, default=150, help="validation images; %(default)s by default")
    parser.add_argument("--retrain", action="store_true", help="train again although a finished training is there")
    return parser.parse_args(argv)


def make_config(epochs: int | None, data: Path, work_dir: Path) -> Config:
    """The digits config on this data, for this many epochs.

    It loses its file name: the copy that the Runner writes into the work dir must not have the name of a shipped config,
    which mim would then find twice.
    """
    shipped = Config.fromfile(CONFIG)
    override_data_root(shipped, shipped.data_root, str(data))
    cfg = Config(shipped.to_dict())
    cfg.work_dir = str(work_dir)
    cfg.visualizer.pop(
        "name", None
    )  # visualizers of one name are one object, and each run of this process needs its own
    if epochs is not None:
        cfg.train_cfg.max_epochs = epochs
        for scheduler in cfg.param_scheduler:
            if scheduler.by_epoch:
                scheduler.end = epochs
    return cfg


def train(cfg: Config, data: Path, retrain: bool) -> dict[str, Any]:
    """Train, unless the work dir has a finished training with the same config and data.

    Returns:
        ``checkpoint`` and ``scalars`` (paths), ``seconds`` and ``iterations`` of the training.
    """
    record_file = Path(cfg.work_dir) / RECORD
    wanted = {"config": cfg.pretty_text, "data": json.loads((data / "digits.json").read_text())["sha256"]}
    if not retrain and record_file.is_file():
        record = json.loads(record_file.read_text())
        files = [Path(record["checkpoint"]), Path(record["scalars"])]
        if all(record[key] == value for key, value in wanted.items()) and all(file.is_file() for file in files):
            print(
                f"Training is not repeated: {files[0]} was trained with the same config and data (--retrain repeats it)"
            )
            return record
    start = time.time()
    runner = Runner.from_cfg(cfg)
    runner.register_hook(CPUThreadsHook())
    runner.train()
    record = {
        **wanted,
        "checkpoint": (Path(cfg.work_dir) / "last_checkpoint").read_text().strip(),
        "scalars": str(Path(runner.log_dir) / "vis_data" / "scalars.json"),
        "seconds": round(time.time() - start, 1),
        "iterations": runner.iter,
    }
    with replacing(record_file) as temporary:
        temporary.write_text(json.dumps(record, indent=2))
    return record


def evaluate(cfg: Config, checkpoint: str) -> tuple[dict[str, float], Runner]:
    """COCO's metrics of a checkpoint on the validation images, and the runner that holds the model."""
    cfg.load_from = checkpoint
    runner = Runner.from_cfg(cfg)
    return runner.test(), runner


def draw_grid(runner: Runner, path: Path) -> None:
    """Draw images from all over the validation set, each with its ground truth on the left and the predictions on the right."""
    dataset = runner.test_dataloader.dataset
    runner.visualizer.dataset_meta = dataset.metainfo
    chosen = np.linspace(0, len(dataset) - 1, min(len(dataset), COLUMNS * ROWS)).astype(int)
    with torch.no_grad():
        samples = runner.model.test_step(pseudo_collate([dataset[int(index)] for index in chosen]))
    panels = [draw_pair(runner.visualizer, sample) for sample in samples]
    while len(panels) % COLUMNS:
        panels.append(np.full_like(panels[0], 255))
    rows = [np.hstack(panels[i : i + COLUMNS]) for i in range(0, len(panels), COLUMNS)]
    cv2.imwrite(str(path), np.vstack(rows)[..., ::-1])


def draw_pair(visualizer: Any, sample: Any) -> np.ndarray:
    """One enlarged image twice, with ground truth and with predictions, in a white frame with headings."""
    image = cv2.imread(sample.img_path)[..., ::-1]
    image = cv2.resize(image, None, fx=ZOOM, fy=ZOOM, interpolation=cv2.INTER_CUBIC)
    sample.gt_instances.bboxes = sample.gt_instances.bboxes * ZOOM
    sample.pred_instances.bboxes = sample.pred_instances.bboxes * ZOOM
    sample.pred_instances = sample.pred_instances[sample.pred_instances.scores.argsort()]  # the surest on top
    visualizer.add_datasample("pair", image, sample, pred_score_thr=SCORE)
    pair = visualizer.get_image()
    width = image.shape[1]
    left, right = (
        cv2.copyMakeBorder(half, 30, 6, 6, 6, cv2.BORDER_CONSTANT, value=(255, 255, 255))
        for half in (pair[:, :width], pair[:, width:])
    )
    name = Path(sample.img_path).name
    for half, heading in ((left, f"{name}: ground truth"), (right, f"prediction, score > {SCORE}")):
        cv2.putText(half, heading, (8, 22), cv2.FONT_HERSHEY_SIMPLEX, 0.55, (0, 0, 0), 1, cv2.LINE_AA)
    return np.hstack([left, right])


def draw_curves(scalars: Path, path: Path) -> None:
    """Draw the losses over the iterations and the APs over the epochs, from mmengine's scalars.json."""
    rows = [json.loads(line) for line in scalars.read_text().splitlines()]
    training, validation = [row for row in rows if "loss" in row], [row for row in rows if "coco/bbox_mAP" in row]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    for name in ("loss", "loss_cls", "loss_bbox"):
        left.plot([row["step"] for row in training], [row[name] for row in training], label=name, marker=".")
    left.set(xlabel="iteration", ylabel="loss (mean of the last 50 iterations)", title="Training loss", ylim=(0, None))
    for label in ("AP", "AP50", "AP75"):
        values = [row[f"coco/bbox_{AP_NAMES[label]}"] for row in validation]
        right.plot([row["step"] for row in validation], values, label=label, marker="o")
    right.set(xlabel="epoch", ylabel="box AP", title="Validation", ylim=(0, 1))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def print_table(metrics: dict[str, float], images: int) -> None:
    """Print COCO's box APs; '-' where the data set has no such objects, 0 where the detector found nothing at all."""
    table = Table()
    values = [metrics.get(f"coco/bbox_{name}", 0.0) for name in AP_NAMES.values()]
    for name in AP_NAMES:
        table.add_column(name, justify="right")
    table.add_row(*["-" if value < 0 else f"{value:.3f}" for value in values])
    print(f"\nBox AP on {images} validation images, whose digits were not in the training")
    Console().print(table)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo and return its exit status."""
    args = parse_args(argv)
    out = args.out.resolve()
    try:
        spec = DigitsSpec(train_count=args.train_count, val_count=args.val_count)
        data = build_digits(out / "digits", spec, ["coco"], overwrite=True)["coco"]
    except (DigitsExistError, ImportError, ValueError) as error:
        print(f"demo.py: error: {error}", file=sys.stderr)
        return 1
    cfg = make_config(args.epochs, data, out / "run")
    record = train(cfg, data, args.retrain)
    metrics, runner = evaluate(cfg, record["checkpoint"])
    pictures = {"Predictions": out / "predictions.png", "Loss and AP curves": out / "curves.png"}
    draw_grid(runner, pictures["Predictions"])
    draw_curves(Path(record["scalars"]), pictures["Loss and AP curves"])
    print_table(metrics, args.val_count)
    print(
        f"Training: {record['iterations']} iterations in {record['seconds'] / 60:.1f} minutes; {record['checkpoint']}"
    )
    for name, path in pictures.items():
        print(f"{name}: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
