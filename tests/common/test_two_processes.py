"""Two real processes over gloo: what the main one finds or fails at ends or serves both, and none waits for the other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Seconds after which gloo gives up: a process that waited for one that stopped would say that in place of the sentence.
TIMEOUT = 60

PROGRAM = """
import datetime, json, os, sys
import torch.distributed as dist
from mmengine.config import Config
from csan_mm.common.errors import UserError
from csan_mm.engine import resume

rank, (folder, failing, timeout) = int(os.environ["RANK"]), sys.argv[1:]
dist.init_process_group(
    "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2, timeout=datetime.timedelta(seconds=int(timeout))
)
failures = {"disk": OSError(5, "Input/output error", "epoch_2.pth"), "fault": RuntimeError("a fault of ours")}

def search(work_dir, trust):
    if rank != 0:
        raise AssertionError("the other process looks for itself")
    if failing in failures:
        raise failures[failing]
    return work_dir / "epoch_2.pth"

resume.find_resumable = search
cfg = Config({"work_dir": folder})
try:
    resume.choose_checkpoint(cfg, "auto")
    said = cfg.load_from
except (UserError, RuntimeError) as error:
    said = f"{type(error).__name__}: {error}"
print(json.dumps(said))
"""


@pytest.fixture(params=["nothing", "disk", "fault"])
def answers(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[str]]:
    """What failed in the main process, and what each of the two said at its end."""
    (tmp_path / "epoch_2.pth").touch()
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), request.param, str(TIMEOUT)]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"RANK": str(rank)})
        for rank in (0, 1)
    ]
    try:
        outputs = [process.communicate(timeout=300)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    return request.param, [json.loads(output.splitlines()[-1]) for output in outputs]


def test_both_go_on_or_end_alike_and_none_waits(answers, tmp_path):
    failing, (main, other) = answers
    if failing == "nothing":
        assert main == other == str(tmp_path / "epoch_2.pth")
    elif failing == "disk":
        assert main == other
        assert main.startswith("UserError: epoch_2.pth: Input/output error: check the path")
    else:
        assert main == "RuntimeError: a fault of ours"
        assert other == "UserError: the main process stopped: RuntimeError: a fault of ours"
