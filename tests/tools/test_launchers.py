"""The shell launchers: what they start, with which port, address and arguments; and two processes that train together."""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

#: Stands for python or srun: writes its arguments and the variables of interest, one a line, and ends with status 7.
RECORDER = """#!/bin/bash
for variable in MASTER_ADDR MASTER_PORT; do echo "$variable=${!variable:-}"; done >"$RECORD"
for argument in "$@"; do echo "[$argument]"; done >>"$RECORD"
exit 7
"""
#: As srun with one task on this machine: runs what stands behind its own options.
ONE_TASK = """#!/bin/bash
while [[ "$1" == -* ]]; do echo "$1" >>"$RECORD.srun"; shift; done
exec "$@"
"""


@pytest.fixture
def launch(tmp_path: Path, repo_root: Path) -> Callable[..., tuple[int, list[str], str]]:
    """Calls a launcher from another folder with stand-ins for python and srun; gives status, recorded lines and stderr."""

    def run(script: str, *arguments: str, srun: str = RECORDER, **variables: str) -> tuple[int, list[str], str]:
        record = tmp_path / "record"
        for name, content in {"recorder": RECORDER, "srun": srun}.items():
            path = tmp_path / name
            path.write_text(content)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        kept = {name: value for name, value in os.environ.items() if name not in ("MASTER_ADDR", "PORT", "NNODES")}
        environment = {**kept, "PATH": f"{tmp_path}:{os.environ['PATH']}", "RECORD": str(record), **variables}
        command = ["bash", str(repo_root / "tools" / script), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done.returncode, record.read_text().splitlines() if record.exists() else [], done.stderr

    return run


@pytest.fixture
def dist(launch, tmp_path):
    """dist_*.sh with the recorder as python."""
    return lambda script, *arguments, **variables: launch(
        script, *arguments, **{"PYTHON": str(tmp_path / "recorder"), "PORT": "1234", **variables}
    )


def test_dist_train_calls_torchrun(dist, repo_root):
    code, lines, _ = dist("dist_train.sh", "a config.py", "4", "--cfg-options", "a.b=x y", "c='[1, 2]'")
    assert code == 7
    assert lines[2:] == [
        "[-m]", "[torch.distributed.run]", "[--nnodes=1]", "[--node_rank=0]", "[--master_addr=127.0.0.1]",
        "[--master_port=1234]", "[--nproc_per_node=4]", f"[{repo_root}/tools/train.py]", "[a config.py]",
        "[--cfg-options]", "[a.b=x y]", "[c='[1, 2]']", "[--launcher]", "[pytorch]",
    ]  # fmt: skip


def test_dist_test_has_the_checkpoint_before_the_processes(dist, repo_root):
    _, lines, _ = dist("dist_test.sh", "c.py", "a b.pth", "2", "--out", "o.pkl")
    assert "[--nproc_per_node=2]" in lines
    assert lines[lines.index(f"[{repo_root}/tools/test.py]") + 1 :] == [
        "[c.py]", "[a b.pth]", "[--out]", "[o.pkl]", "[--launcher]", "[pytorch]",
    ]  # fmt: skip


SCRIPTS = ["dist_run", "dist_train", "dist_test", "slurm_run", "slurm_task", "slurm_train", "slurm_test"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_says_how_it_is_called(script, repo_root):
    """The head of the file is its help."""
    for word in ("-h", "--help"):
        done = subprocess.run(["bash", repo_root / f"tools/{script}.sh", word], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert re.search(rf"^usage: {script}.sh [A-Z]", done.stdout, re.M)
        assert "#" not in done.stdout
    done = subprocess.run(["bash", repo_root / f"tools/{script}.sh"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"usage: {script}.sh" in done.stderr


def test_torchrun_takes_a_free_port_unless_one_is_set(dist):
    _, lines, _ = dist("dist_train.sh", "c.py", "2", PORT="")
    assert lines[4:7] == ["[--standalone]", "[--local_addr=127.0.0.1]", "[--nproc_per_node=2]"]
    _, lines, _ = dist("dist_train.sh", "c.py", "2", PORT="4321")
    assert "[--master_port=4321]" in lines
    assert "[--standalone]" not in lines


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", None])
def test_several_nodes_need_an_address_of_the_first(dist, address):
    variables = {} if address is None else {"MASTER_ADDR": address}
    code, lines, message = dist("dist_train.sh", "c.py", "2", NNODES="2", NODE_RANK="0", **variables)
    assert (code, lines) == (2, [])
    assert "set MASTER_ADDR to the first node's address" in message


def test_several_nodes(dist):
    code, lines, message = dist("dist_train.sh", "c.py", "2", NNODES="2", MASTER_ADDR="10.0.0.1")
    assert code == 2
    assert "without NODE_RANK" in message
    code, lines, _ = dist("dist_train.sh", "c.py", "2", NNODES="2", MASTER_ADDR="10.0.0.1", NODE_RANK="1", PORT="")
    assert lines[4:9] == [
        "[--nnodes=2]", "[--node_rank=1]", "[--master_addr=10.0.0.1]", "[--master_port=29500]", "[--nproc_per_node=2]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("dist_train.sh", ["c.py"], "usage: .*CONFIG PROCESSES"),
        ("dist_train.sh", ["c.py", "two"], "number of processes is 'two'"),
        ("dist_test.sh", ["c.py", "c.pth"], "usage: .*CONFIG CHECKPOINT PROCESSES"),
        ("slurm_train.sh", ["p", "j"], "usage: .*PARTITION JOB_NAME CONFIG"),
        ("slurm_test.sh", ["p", "j", "c.py"], "usage: .*PARTITION JOB_NAME CONFIG CHECKPOINT"),
    ],
)
def test_wrong_usage(dist, script, arguments, message):
    code, lines, stderr = dist(script, *arguments)
    assert (code, lines) == (2, [])
    assert re.search(message, stderr)


def test_slurm_train_calls_srun(launch, repo_root):
    code, lines, _ = launch(
        "slurm_train.sh", "gpu", "my job", "a config.py", "--cfg-options", "a=x y",
        GPUS="16", GPUS_PER_NODE="4", CPUS_PER_TASK="3", SRUN_ARGS="--quotatype=auto --time=1:00",
    )  # fmt: skip
    assert code == 7
    assert lines[2:] == [
        "[--partition=gpu]", "[--job-name=my job]", "[--gres=gpu:4]", "[--ntasks=16]", "[--ntasks-per-node=4]",
        "[--cpus-per-task=3]", "[--kill-on-bad-exit=1]", "[--quotatype=auto]", "[--time=1:00]", "[bash]",
        f"[{repo_root}/tools/slurm_task.sh]", f"[{repo_root}/tools/train.py]", "[a config.py]", "[--cfg-options]",
        "[a=x y]", "[--launcher]", "[slurm]",
    ]  # fmt: skip


def test_slurm_train_takes_mmdet_s_work_dir(launch, repo_root):
    _, lines, _ = launch("slurm_train.sh", "gpu", "job", "c.py", "work dir", "--amp", GPUS="2")
    assert "[--gres=gpu:2]" in lines
    assert lines[lines.index("[c.py]") :] == [
        "[c.py]", "[--work-dir]", "[work dir]", "[--amp]", "[--launcher]", "[slurm]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("node7", "node7"),
        ("node7,node9", "node7"),
        ("node[003-005,7],other", "node003"),
        ("gpu-[2,4]", "gpu-2"),
        ("rack[1-2]node[3-4]", "rack1node3"),
        ("a1,b[3-5]", "a1"),
    ],
)
def test_slurm_task_finds_the_first_host_without_scontrol(launch, tmp_path, repo_root, nodes, first):
    code, lines, _ = launch(
        "slurm_test.sh", "gpu", "job", "c.py", "a b.pth", srun=ONE_TASK, PYTHON=str(tmp_path / "recorder"),
        SLURM_JOB_ID="123456", SLURM_STEP_ID="2", SLURM_STEP_NODELIST=nodes, MASTER_ADDR="127.0.0.1",
    )  # fmt: skip
    assert code == 7
    assert lines[:2] == [f"MASTER_ADDR={first}", f"MASTER_PORT={10000 + 123458 % 20000}"]
    assert lines[2:] == [
        "[-u]", f"[{repo_root}/tools/test.py]", "[c.py]", "[a b.pth]", "[--launcher]", "[slurm]",
    ]  # fmt: skip


def test_slurm_task_outside_of_a_job(launch, tmp_path):
    code, lines, message = launch("slurm_task.sh", "x.py", PYTHON=str(tmp_path / "recorder"), SLURM_JOB_ID="1")
    assert code != 0
    assert not lines
    assert "start this with slurm_train.sh or slurm_test.sh" in message


#: Every process writes its parameters after the training, and what the wrapper was told.
WATCHER = """
import torch
from mmengine.hooks import Hook
from mmengine.registry import HOOKS


@HOOKS.register_module()
class ParameterWatcher(Hook):
    def before_train(self, runner):
        self.before = {name: value.clone() for name, value in runner.model.module.named_parameters()}

    def after_train(self, runner):
        after = dict(runner.model.module.named_parameters())
        facts = {"unused": runner.model.find_unused_parameters, "kind": type(runner.model).__name__}
        facts["backend"] = torch.distributed.get_backend()
        facts["frozen"] = [name for name, value in after.items() if not value.requires_grad]
        facts["moved"] = [name for name in after if not torch.equal(after[name], self.before[name])]
        torch.save({"parameters": runner.model.module.state_dict(), "facts": facts}, f"rank{runner.rank}.pth")
"""


@pytest.fixture
def train_two(tiny_config, tmp_path, repo_root):
    """Trains in two processes on the CPU, with frozen stages and checkpointing; gives the output and what each rank wrote."""
    if torch.cuda.is_available():
        pytest.skip("the processes would use the GPUs, of which there may be one")
    (tmp_path / "parameter_watcher.py").write_text(WATCHER)
    config = tiny_config(
        more="custom_imports = dict(imports=['csan_mm', 'parameter_watcher'], allow_failed_imports=False)\n"
        "model['backbone'].update(frozen_stages=1, with_cp=True)\n"
        "custom_hooks = [dict(type='ParameterWatcher')]\n"
        "find_unused_parameters = False\n"
    )
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"}
    launcher = str(repo_root / "tools" / "dist_train.sh")

    def run(*options: str) -> tuple[str, list[dict]]:
        command = ["bash", launcher, str(config), "2", "--work-dir", "a work dir", *options]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout + done.stderr, [torch.load(tmp_path / f"rank{rank}.pth") for rank in (0, 1)]

    return run


def assert_same(first: dict, second: dict) -> None:
    assert first["facts"] == second["facts"]
    for name, value in first["parameters"].items():
        assert torch.equal(value, second["parameters"][name]), name


def test_two_processes_train_together_on_the_cpu(train_two, tmp_path):
    """Without a search for unused parameters."""
    output, (first, second) = train_two()
    assert "effective batch 4 = 2 processes x 2 images" in output
    assert_same(first, second)
    facts = first["facts"]
    assert (facts["backend"], facts["kind"], facts["unused"]) == ("gloo", "MMDistributedDataParallel", False)
    assert any(name.startswith("backbone.patch_embed") for name in facts["frozen"])
    assert not set(facts["frozen"]) & set(facts["moved"])
    assert any(name.startswith("backbone.layers.3") for name in facts["moved"])
    assert (tmp_path / "a work dir" / "iter_2.pth").is_file()


@pytest.mark.slow
def test_two_processes_resume_from_the_same_checkpoint(train_two, tmp_path):
    """The last one is truncated, and the folder was moved."""
    train_two()
    (tmp_path / "a work dir").rename(tmp_path / "elsewhere")
    last = tmp_path / "elsewhere" / "iter_2.pth"
    last.write_bytes(last.read_bytes()[:-1000])
    output, (first, second) = train_two("--work-dir", "elsewhere", "--resume")
    assert output.count("resuming from elsewhere/iter_1.pth instead") == 1
    assert "resumed epoch: 0, iter: 1" in output
    assert_same(first, second)
