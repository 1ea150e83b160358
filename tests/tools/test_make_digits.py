"""tools/dataset_tools/make_digits.py: options, messages and exit status."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from csan_mm.commands import build_parser
from csan_mm.commands import main as command
from csan_mm.commands.digits import spec_from_args

TINY = ["--train-count", "3", "--val-count", "2", "--image-size", "32"]


@pytest.fixture
def script(repo_root: Path) -> Path:
    return repo_root / "tools" / "dataset_tools" / "make_digits.py"


@pytest.fixture
def main():
    handler = signal.getsignal(signal.SIGTERM)
    yield lambda arguments: command(["digits", *arguments])
    signal.signal(signal.SIGTERM, handler)


def start(script: Path, repo_root: Path, *arguments: str) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(repo_root)}
    command = [sys.executable, str(script), *arguments]
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what runs in its background deaf to Ctrl-C, and the tests may run there.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_all_options_reach_the_data_set(main, tmp_path, capsys):
    from csan_mm.datasets import DigitsSpec, build_digits

    options = "--train-count 3 --val-count 2 --image-size 48 64 --digits-per-image 2 3 --digit-side 9 12"
    options += " --empty-fraction 0.25 --seed 9 --forms coco imagenet"
    assert main([str(tmp_path / "tool"), *options.split()]) == 0
    assert f"coco: 3 train and 2 val images of 48x64 in {tmp_path / 'tool' / 'coco'}" in capsys.readouterr().out
    build_digits(
        tmp_path / "api", DigitsSpec(3, 2, (48, 64), (2, 3), (9, 12), 0.25, seed=9), forms=["coco", "imagenet"]
    )
    files = {
        name: {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("tool", "api")
    }
    assert len(files["tool"]) == (5 + 2 + 1) + (5 + 1)
    assert files["tool"] == files["api"]


def test_defaults_are_the_documented_ones(main):
    from csan_mm.datasets import FORMS, DigitsSpec

    args = build_parser().parse_args(["digits", "out"])
    assert spec_from_args(args) == DigitsSpec(600, 150, (128, 128), (1, 4), (24, 56), 0.0, 0)
    assert tuple(args.forms) == FORMS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--train-count", "0"], "train_count must be at least 1, got 0"),
        (["--image-size", "16"], "image_size must be at least 32, got 16"),
        (["--image-size", "32", "32", "3"], "image_size must be two whole numbers"),
        (["--digits-per-image", "3", "1"], "digits_per_image must be (least, greatest), got (3, 1)"),
        (["--image-size", "32", "--digits-per-image", "50", "50"], "does not fit into image_size 32x32"),
        (["--seed", "-1"], "seed must be at least 0, got -1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_option_is_one_sentence_and_status_2(main, tmp_path, capsys, options, message):
    assert main([str(tmp_path / "out"), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_other_digits_need_overwrite(main, tmp_path, capsys):
    assert main([str(tmp_path), *TINY]) == 0
    assert main([str(tmp_path), *TINY]) == 0  # kept
    assert main([str(tmp_path), *TINY, "--seed", "4"]) == 2
    assert "seed is 0, asked for 4" in capsys.readouterr().err
    assert main([str(tmp_path), *TINY, "--seed", "4", "--overwrite"]) == 0


def test_an_unwritable_place_is_status_1(main, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([str(tmp_path / "file" / "out"), *TINY]) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_as_a_program_it_has_no_traceback(script, repo_root, tmp_path):
    process = start(script, repo_root, str(tmp_path / "out"), "--val-count", "-1")
    out, error = process.communicate(timeout=120)
    assert process.returncode == 2
    assert out == ""
    assert error.strip().endswith("error: val_count must be at least 1, got -1")
    assert "Traceback" not in error


def test_a_stopped_program_leaves_nothing(script, repo_root, tmp_path):
    runs = {}
    for number in (signal.SIGTERM, signal.SIGINT):  # both at once: most of the time is the import
        runs[number] = start(script, repo_root, str(tmp_path / number.name), "--train-count", "1000000")
    try:
        for number, process in runs.items():
            deadline = time.monotonic() + 120
            while not list(tmp_path.glob(f".{number.name}.partial-*/{number.name}/coco/train/*.png")):
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() < deadline, "no picture was written"
                time.sleep(0.02)
            process.send_signal(number)
            _, error = process.communicate(timeout=60)
            assert process.returncode == 128 + number
            assert "Traceback" not in error
    finally:
        for process in runs.values():
            process.kill()
            process.wait()
    assert list(tmp_path.iterdir()) == []
