"""A backbone's whole life in one command: pre-trained as a classifier, exported, fine-tuned to detect and to segment.

Each step is a command of this repository, printed before it runs; the two fine-tunings are also done from scratch, from the
same configs, so that the table at the end says what pre-training is worth. Steps that are finished are not repeated.

Example:
    python tools/road.py --out work_dirs/road
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from csan_mm.checkpoint.files import replacing

TOOLS = Path(__file__).resolve().parent
CONFIGS = TOOLS.parent / "configs" / "digits"
PRETRAINING = CONFIGS / "swin-csan-c48_1xb32-12e_digits-cls.py"
DETECTION = CONFIGS / "retinanet_swin-csan-c48_fpn_12e_digits.py"
SEGMENTATION = CONFIGS / "swin-csan-c48_upernet_1xb8-1k_digits-128x128.py"
#: Half the config's: what was learned before is not to be lost in the first steps. From scratch the same.
LOW_RATE = "optim_wrapper.optimizer.lr=0.001"
RECORD = "finished.json"
LINES_SHOWN = 15


class StepError(RuntimeError):
    """A command of the road failed; the message has its last lines."""


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("work_dirs/road"), help="folder for everything; %(default)s")
    parser.add_argument(
        "--pretrain-count", type=int, default=8000, help="images of 64 x 64 to pre-train on; %(default)s by default"
    )
    parser.add_argument(
        "--train-count", type=int, default=300, help="images of 128 x 128 to fine-tune on; %(default)s by default"
    )
    parser.add_argument("--val-count", type=int, default=300, help="validation images; %(default)s by default")
    parser.add_argument("--pretrain-epochs", type=int, default=10, help="of pre-training; %(default)s by default")
    parser.add_argument("--detection-epochs", type=int, default=8, help="of each detector; %(default)s by default")
    parser.add_argument("--segmentation-iters", type=int, default=500, help="of each; %(default)s by default")
    return parser.parse_args(argv)


class Road:
    """Runs commands one after the other and keeps what they gave.

    Args:
        out: Folder of all of them.
    """

    def __init__(self, out: Path) -> None:
        self.out = out

    def run(self, script: str, *arguments: object, data: Path | None = None) -> None:
        """Print a command and run it, its output in a file of its own.

        Raises:
            StepError: It failed.
        """
        command = [sys.executable, str(TOOLS / script), *map(str, arguments)]
        shown = " ".join(["python", f"tools/{script}", *(str(argument) for argument in arguments)])
        print(f"$ {f'DIGITS_ROOT={data} ' if data else ''}{shown}", flush=True)
        environment = {**os.environ, **({"DIGITS_ROOT": str(data)} if data else {})}
        log = self.out / "last_command.log"
        with open(log, "w", encoding="utf-8") as file:
            done = subprocess.run(command, env=environment, stdout=file, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LINES_SHOWN:]
            raise StepError("\n".join([f"exit status {done.returncode} of: {shown}", *last]))

    def train(self, name: str, config: Path, data: Path, metric: str, options: Sequence[str]) -> dict[str, Any]:
        """Train once, and again only where the command or the data are others.

        Returns:
            ``metric`` (at the end), ``seconds`` and ``checkpoint``.

        Raises:
            StepError: The training failed.
        """
        folder = self.out / name
        manifest = next(iter(sorted(data.glob("*/digits.json")))).read_text(encoding="utf-8")
        wanted = {"options": list(options), "config": config.read_text(encoding="utf-8"), "data": manifest}
        record_file = folder / RECORD
        if record_file.is_file():
            record = json.loads(record_file.read_text(encoding="utf-8"))
            if wanted.items() <= record.items() and Path(record["checkpoint"]).is_file():
                print(f"{name}: trained before, {record['checkpoint']}")
                return record
        start = time.time()
        self.run("train.py", config, "--work-dir", folder, "--cfg-options", *options, data=data)
        record = {
            **wanted,
            "metric": last_scalar(folder, metric),
            "seconds": round(time.time() - start, 1),
            "checkpoint": (folder / "last_checkpoint").read_text(encoding="utf-8").strip(),
        }
        with replacing(record_file) as temporary:
            temporary.write_text(json.dumps(record, indent=2), encoding="utf-8")
        print(f"{name}: {metric} {record['metric']:.4g} after {record['seconds'] / 60:.1f} minutes", flush=True)
        return record


def last_scalar(work_dir: Path, name: str) -> float:
    """The last value of a metric in the newest log of a work dir; 0 if there is none, as mmdet has where nothing was found."""
    newest = max(work_dir.glob("*/vis_data/scalars.json"))
    rows = [json.loads(line) for line in newest.read_text(encoding="utf-8").splitlines()]
    return float(next((row[name] for row in reversed(rows) if name in row), 0.0))


def epochs(number: int) -> list[str]:
    """Settings that make a training this long, its learning rate's decay too, and evaluate it at its end alone."""
    return [f"train_cfg.max_epochs={number}", f"train_cfg.val_interval={number}", f"param_scheduler.1.end={number}"]


def iterations(number: int) -> list[str]:
    """The same for one that is counted in iterations."""
    return [f"train_cfg.max_iters={number}", f"train_cfg.val_interval={number}", f"param_scheduler.1.end={number}"]


def travel(args: argparse.Namespace) -> list[dict[str, Any]]:
    """All steps; returns one row per task with both figures."""
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    road = Road(out)
    small, large = out / "digits-64", out / "digits-128"
    make, counts = "dataset_tools/make_digits.py", ("--val-count", args.val_count, "--overwrite")
    road.run(make, small, "--forms", "imagenet", "--image-size", 64, "--train-count", args.pretrain_count, *counts)
    road.run(make, large, "--forms", "coco", "ade20k", "--train-count", args.train_count, *counts)
    pretrained = road.train("pretrain", PRETRAINING, small, "accuracy/top1", epochs(args.pretrain_epochs))
    road.run("export_backbone.py", PRETRAINING, pretrained["checkpoint"], out / "backbone")
    start = [
        "model.backbone.init_cfg.type=csan_mm.Pretrained",
        f"model.backbone.init_cfg.checkpoint={out / 'backbone.safetensors'}",
    ]
    rows = []
    for task, config, length, metric, label, full in (
        ("detection", DETECTION, [*epochs(args.detection_epochs), LOW_RATE], "coco/bbox_mAP", "box mAP", 1),
        ("segmentation", SEGMENTATION, iterations(args.segmentation_iters), "mIoU", "mIoU", 100),
    ):
        scratch = road.train(f"{task}-scratch", config, large, metric, length)
        tuned = road.train(f"{task}-finetuned", config, large, metric, [*length, *start])
        rows.append(
            {"task": f"{task}, {label}", "scratch": scratch["metric"] / full, "finetuned": tuned["metric"] / full}
        )
    print(f"pre-training: top-1 {pretrained['metric']:.1f} % on digits that were not in it")
    return rows


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """Both figures of every task."""
    table = Table()
    for column in ("task and metric", "from scratch", "from the exported backbone"):
        table.add_column(column, justify="left" if column == "task and metric" else "right")
    for row in rows:
        table.add_row(row["task"], f"{row['scratch']:.3f}", f"{row['finetuned']:.3f}")
    Console().print(table)


def main(argv: Sequence[str] | None = None) -> int:
    """Travel the road and return its exit status."""
    args = parse_args(argv)
    start = time.time()
    try:
        rows = travel(args)
    except StepError as error:
        print(f"road.py: error: {error}", file=sys.stderr)
        return 1
    print_table(rows)
    print(f"{(time.time() - start) / 60:.1f} minutes; everything is in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
