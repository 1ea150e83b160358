"""``make road`` at a small size: every step runs, a second run repeats none, a failing one is shown."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

from csan_mm.checkpoint import load_file


@pytest.fixture(scope="module")
def road(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("road.py")


@pytest.mark.slow
def test_every_step_and_none_twice(road: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    size = ["--pretrain-count", "64", "--train-count", "16", "--val-count", "8", "--pretrain-epochs", "1"]
    size += ["--detection-epochs", "1", "--segmentation-iters", "2", "--out", str(tmp_path)]
    assert road.main(size) == 0, capsys.readouterr().err
    first = capsys.readouterr().out
    assert "detection, box mAP" in first
    assert "segmentation, mIoU" in first
    names = ("pretrain", "detection-scratch", "detection-finetuned", "segmentation-scratch", "segmentation-finetuned")
    records = {name: json.loads((tmp_path / name / road.RECORD).read_text()) for name in names}
    backbone = load_file(tmp_path / "backbone.safetensors")
    logs = [path.read_text() for path in tmp_path.glob("*-finetuned/*/*.log")]
    assert len(logs) == 2
    # Four output norms where the classifier has one; all else comes from the file.
    assert all(
        f"backbone.safetensors: loaded {len(backbone)}/{len(backbone)}, new norm0, norm1, norm2" in log for log in logs
    )
    trained = torch.load(records["pretrain"]["checkpoint"], weights_only=False)["state_dict"]
    assert all(torch.equal(trained[f"backbone.{name}"], value) for name, value in backbone.items())

    assert road.main(size) == 0
    second = capsys.readouterr().out
    assert second.count("trained before") == 5
    assert "$ python tools/train.py" not in second


def test_a_failing_step_is_shown(road: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert road.main(["--out", str(tmp_path), "--pretrain-count", "0"]) == 1
    error = capsys.readouterr().err
    assert "exit status" in error
    assert "train_count must be at least 1" in error
