"""How many threads a CPU training takes: measured, again when it becomes slow, and left alone where the user has chosen."""

import os
from types import SimpleNamespace

import pytest
import torch

from csan_mm.engine import cpu_threads
from csan_mm.engine.cpu_threads import CPUThreadsHook, probe_seconds


@pytest.fixture(autouse=True)
def _two_threads_of_its_own(monkeypatch):
    for name in list(os.environ):
        if name.startswith(cpu_threads.USER_SETTINGS):
            monkeypatch.delenv(name)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    monkeypatch.setattr(cpu_threads, "get_device", lambda: "cpu")
    yield
    torch.set_num_threads(before)


class Runner:
    """As much of mmengine's as the hook touches; iterations take as many seconds as they are told."""

    def __init__(self, monkeypatch, cfg=None):
        self.cfg, self.iter, self.lines, self.now = cfg or {}, 0, [], 0.0
        self.logger = SimpleNamespace(info=self.lines.append)
        monkeypatch.setattr(cpu_threads.time, "perf_counter", lambda: self.now)

    def iterations(self, hook: CPUThreadsHook, *seconds: float) -> None:
        for one in seconds:
            hook.before_train_iter(self, 0)
            self.now += one
            hook.after_train_iter(self, 0)
            self.iter += 1


def machine(monkeypatch, one: float, many: float) -> list[int]:
    """A machine on which the probe takes so long; the list gets the thread counts that are probed."""
    probed: list[int] = []

    def probe(threads: int) -> float:
        probed.append(threads)
        return one if threads == 1 else many

    monkeypatch.setattr(cpu_threads, "probe_seconds", probe)
    return probed


@pytest.mark.parametrize(("one", "many", "chosen"), [(0.02, 0.01, 2), (0.01, 0.5, 1)])
def test_the_faster_number_is_taken_and_said(monkeypatch, one, many, chosen):
    machine(monkeypatch, one, many)
    runner, hook = Runner(monkeypatch), CPUThreadsHook()
    hook.before_train(runner)
    assert torch.get_num_threads() == chosen
    (line,) = runner.lines
    assert f"so {chosen} of 2 (OMP_NUM_THREADS=N chooses otherwise)" in line
    hook.after_train(runner)
    assert torch.get_num_threads() == 2


def test_measured_again_when_iterations_become_several_times_slower(monkeypatch):
    machine(monkeypatch, 0.02, 0.01)
    runner, hook = Runner(monkeypatch), CPUThreadsHook(slower=3, min_interval=5)
    hook.before_train(runner)
    runner.iterations(hook, 5.0, *[0.3] * 10)  # the first one is slow in every training
    probed = machine(monkeypatch, 0.02, 0.5)
    runner.iterations(hook, 13.0, 0.3, 0.8, 0.8)  # a single one, and what is not several times as slow
    assert not probed
    runner.iterations(hook, 13.0, 13.0)
    assert probed == [1, 2]
    assert torch.get_num_threads() == 1
    assert "iteration 17 took 13.00 s, the usual one 0.30 s; " in runner.lines[-1]
    runner.iterations(hook, *[0.6] * 30)
    assert len(runner.lines) == 2


def test_what_stays_slow_is_the_new_usual(monkeypatch):
    """A probe that changes nothing is not repeated for ever."""
    probed = machine(monkeypatch, 0.02, 0.01)
    runner, hook = Runner(monkeypatch), CPUThreadsHook(min_interval=5)
    hook.before_train(runner)
    runner.iterations(hook, *[0.3] * 10, *[5.0] * 50)
    assert probed == [1, 2] * 2


@pytest.mark.parametrize(
    "name",
    ["OMP_NUM_THREADS", "GOMP_SPINCOUNT", "GOMP_CPU_AFFINITY", "OMP_WAIT_POLICY", "MKL_NUM_THREADS", "KMP_BLOCKTIME"],
)
def test_left_alone_where_the_environment_chooses(monkeypatch, name):
    monkeypatch.setenv(name, "2")
    probed = machine(monkeypatch, 0.01, 0.5)
    runner, hook = Runner(monkeypatch), CPUThreadsHook()
    hook.before_train(runner)
    runner.iterations(hook, *[0.3] * 30, *[9.0] * 5)
    hook.after_train(runner)
    assert (probed, runner.lines, torch.get_num_threads()) == ([], [], 2)


def test_other_variables_choose_nothing(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    monkeypatch.setenv("KMP_INIT_AT_FORK", "FALSE")
    monkeypatch.setenv("KMP_DUPLICATE_LIB_OK", "True")
    machine(monkeypatch, 0.01, 0.5)
    CPUThreadsHook().before_train(Runner(monkeypatch))
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize("case", ["set_num_threads", "gpu", "processes", "deterministic", "one"])
def test_left_alone_where_there_is_nothing_to_choose(monkeypatch, case):
    probed, cfg = machine(monkeypatch, 0.01, 0.5), {}
    if case == "one":
        torch.set_num_threads(1)
    hook = CPUThreadsHook()
    if case == "set_num_threads":
        torch.set_num_threads(3)
    if case == "gpu":
        monkeypatch.setattr(cpu_threads, "get_device", lambda: "cuda")
    if case == "processes":
        monkeypatch.setattr(cpu_threads, "get_world_size", lambda: 2)
    if case == "deterministic":
        cfg = {"randomness": {"seed": 0, "deterministic": True}}
    before, runner = torch.get_num_threads(), Runner(monkeypatch, cfg)
    hook.before_train(runner)
    runner.iterations(hook, *[0.3] * 30, *[9.0] * 5)
    hook.after_train(runner)
    assert (probed, runner.lines, torch.get_num_threads()) == ([], [], before)


def test_the_probe_changes_nothing():
    state, seen = torch.get_rng_state(), torch.get_num_threads()
    assert 0 < probe_seconds(1) < 60
    assert torch.get_num_threads() == seen
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("options", [{"slower": 1}, {"slower": "x"}, {"min_interval": 0}])
def test_wrong_arguments_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        CPUThreadsHook(**options)
