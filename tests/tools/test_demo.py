"""``make demo`` at a small size: what it leaves behind, and that a second run uses it."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import cv2
import pytest


@pytest.fixture(scope="module")
def demo(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("demo.py")


def test_runs_once_and_uses_it_again(demo: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    size = ["--out", str(tmp_path), "--epochs", "1", "--train-count", "16", "--val-count", "9"]
    assert demo.main(size) == 0
    first = capsys.readouterr().out
    record = json.loads((tmp_path / "run" / demo.RECORD).read_text())
    assert record["iterations"] == 2
    assert "AP50" in first
    assert "on 9 validation images" in first
    assert "not repeated" not in first
    for name in ("predictions.png", "curves.png"):
        assert str(tmp_path / name) in first
    # 9 images in rows of two pairs, each enlarged and framed; the tenth place is white.
    picture = cv2.imread(str(tmp_path / "predictions.png"))
    pair_width, row_height = 2 * (3 * 128 + 12), 3 * 128 + 36
    assert picture.shape == (5 * row_height, 2 * pair_width, 3)
    assert (picture[-row_height:, -pair_width:] == 255).all()
    assert (picture[-row_height:, :pair_width] != 255).any()
    assert cv2.imread(str(tmp_path / "curves.png")).shape[1] > 1000

    written = Path(record["checkpoint"]).stat().st_mtime_ns
    assert demo.main(size) == 0
    assert "Training is not repeated" in capsys.readouterr().out
    assert Path(record["checkpoint"]).stat().st_mtime_ns == written

    assert demo.main([*size, "--retrain"]) == 0
    assert "not repeated" not in capsys.readouterr().out
    assert Path(record["checkpoint"]).stat().st_mtime_ns != written


def test_epochs_reach_the_schedule(demo: ModuleType, tmp_path: Path) -> None:
    cfg = demo.make_config(3, tmp_path / "data", tmp_path / "run")
    assert cfg.filename is None  # the copy in the work dir gets a name of its own
    assert cfg.train_cfg.max_epochs == 3
    assert [scheduler.end for scheduler in cfg.param_scheduler if scheduler.by_epoch] == [3]
    assert cfg.train_dataloader.dataset.data_root == str(tmp_path / "data") + "/"
    assert cfg.val_evaluator.ann_file.startswith(str(tmp_path / "data"))


def test_refuses_a_foreign_folder(demo: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "digits" / "coco").mkdir(parents=True)
    (tmp_path / "digits" / "coco" / "mine.txt").write_text("keep")
    assert demo.main(["--out", str(tmp_path)]) == 1
    assert "is not a digits data set" in capsys.readouterr().err
    assert (tmp_path / "digits" / "coco" / "mine.txt").read_text() == "keep"
