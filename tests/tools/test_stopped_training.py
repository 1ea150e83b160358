"""A training that Ctrl-C or a full disk stops: one line, what was saved stays, and it goes on from there."""

import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from csan_mm.engine.resume import find_resumable

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def file_limit():
    """Sets how long a file may become: what writes more gets an error, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_full_disk_leaves_the_old_checkpoint(tool, tiny_config, tmp_path, file_limit):
    """With one checkpoint kept, mmengine would have removed it first."""
    config, work = tiny_config(), tmp_path / "w"
    keep = ["--cfg-options", "default_hooks.checkpoint.max_keep_ckpts=1"]
    assert tool("train.py", config, "--work-dir", work, *keep).code == 0
    assert [path.name for path in work.glob("*.pth")] == ["iter_2.pth"]
    before = (work / "iter_2.pth").read_bytes()

    file_limit(len(before) // 2)
    full = tool("train.py", config, "--work-dir", work, "--resume", *keep, "train_cfg.max_iters=3")
    assert full.code == 1
    (line,) = [line for line in full.err.splitlines() if line.startswith("error: ")]
    assert line.startswith(f"error: {work / 'iter_3.pth'} could not be written (File too large): free some space;")
    words = f"{config} --work-dir {work} {' '.join(keep)} train_cfg.max_iters=3 --resume"
    assert line.endswith(f"then go on with `python {ROOT}/tools/train.py {words}`")
    assert "Traceback" not in full.err
    assert [path.name for path in work.glob("*.pth")] == ["iter_2.pth"]
    assert (work / "iter_2.pth").read_bytes() == before
    assert (work / "last_checkpoint").read_text() == str(work / "iter_2.pth")
    assert not list(work.glob(".*"))
    assert find_resumable(work) == work / "iter_2.pth"


def test_resume_in_vain_is_said_last(tool, tiny_config, tmp_path):
    ended = tool("train.py", tiny_config(), "--work-dir", tmp_path / "w", "--resume")
    said = f"no checkpoint to resume from in {tmp_path / 'w'}: training starts from the beginning"
    assert ended.code == 0
    lines = [line for line in (ended.out + ended.err).splitlines() if line.strip()]
    first_iteration = next(i for i, line in enumerate(lines) if "Iter(train)" in line)
    assert lines[first_iteration - 1].endswith(said)


def test_ctrl_c_says_how_to_go_on(tiny_config, tmp_path):
    config = tiny_config(more="train_cfg.update(max_iters=10000)\n")
    words = [sys.executable, "-m", "csan_mm", "train", config, "--work-dir", "w"]
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONUNBUFFERED="1")
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what runs in its background deaf to Ctrl-C, and the tests may run there.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as run:
        deadline = threading.Timer(300, run.kill)
        deadline.start()  # fails, and does not hang, where the signal is not heard
        errors: list[str] = []
        reader = threading.Thread(target=lambda: errors.extend(run.stderr))
        reader.start()
        for line in run.stdout:
            if "Iter(train) [    3/" in line:
                run.send_signal(signal.SIGINT)
        reader.join()
        deadline.cancel()
    assert run.returncode == 130
    assert "Traceback" not in "".join(errors)
    assert errors[-1] == f"interrupted: go on with `python -m csan_mm train {config} --work-dir w --resume`\n"
    last = Path((tmp_path / "w" / "last_checkpoint").read_text())
    assert "state_dict" in torch.load(tmp_path / last, weights_only=False)
