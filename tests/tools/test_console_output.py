"""What a short training prints: few lines with all that a person needs; --verbose, as much as mmengine."""

import os
import subprocess
import sys

import pytest

slow = pytest.mark.slow

VALIDATING = """
val_cfg = dict(type='ValLoop')
train_cfg.update(max_iters=7, val_interval=7)
val_dataloader = {{_base_.val_dataloader}}
val_evaluator = {{_base_.val_evaluator}}
default_hooks.update(logger=dict(interval=1), checkpoint=dict(by_epoch=False, interval=7))
"""


@pytest.mark.parametrize(
    "family", ["detection", pytest.param("segmentation", marks=slow), pytest.param("classification", marks=slow)]
)
def test_lines_of_a_short_training(tiny_config, tmp_path, family):
    """Seven iterations, a validation and a checkpoint, in a process of its own: other packages speak on being imported."""
    config = tiny_config(family, VALIDATING)
    words = [sys.executable, "-m", "csan_mm", "train", str(config), "--work-dir", "w"]
    words += ["--cfg-options", "val_dataloader.num_workers=0"]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    assert len(lines) <= 45, done.stdout + done.stderr
    for said in (
        f"work dir: {tmp_path}/w;",
        "device: ",
        "data: 10 images to train on, 10 to validate on",
        " million parameters",
        "weights: none, training starts from random ones",
        "effective batch 2 = 1 process x 2 images",
        "(train) [7/7]",
        "(val) [",
        f"wrote: last checkpoint {tmp_path}/w/iter_7.pth, log {tmp_path}/w/",
    ):
        assert any(said in line for line in lines), said
    (log,) = (tmp_path / "w").glob("*/*.log")
    for kept in ("System environment:", "Config:\n", "Hooks will be executed"):
        assert kept in log.read_text()


def test_verbose_prints_all(tool, tiny_config):
    done = tool("train.py", tiny_config(), "--work-dir", "w", "--verbose")
    for said in ("System environment:", "Config:\n", "Hooks will be executed", "creating index..."):
        assert said in done.out
