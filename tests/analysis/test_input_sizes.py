"""The side by side over image sizes: steps, table, picture, and on a CPU memory against what must be there."""

import runpy
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import torch
from mmengine.registry import MODELS

import csan_mm  # noqa: F401
from csan_mm.analysis.input_sizes import (
    MIB,
    Point,
    Task,
    compare,
    draw,
    explicit_attention,
    format_points,
    measure_memory,
    measure_time,
    prepare,
    rivals,
)

VIT = {
    "type": "csan_mm.ViTCSaN",
    "arch": {"embed_dims": 32, "depth": 2, "num_heads": 2},
    "mixer": "softmax",
    "img_size": 448,
    "out_type": "avg_featmap",
}


def test_rivals_have_one_width_and_the_size_of_the_images():
    tasks = [make(96) for make in rivals("tiny", batch_size=2).values()]
    assert [task.explicit for task in tasks] == [False, False, True]
    assert {(task.size, task.batch_size) for task in tasks} == {(96, 2)}
    backbones = [MODELS.build(dict(task.cfg)) for task in tasks[:2]]
    assert {backbone.channels for backbone in backbones} == {(192,)}
    assert backbones[1].source_grid == (6, 6)


@torch.no_grad()
def test_explicit_attention_is_explicit_and_the_same():
    model, image = MODELS.build(dict(VIT)).eval(), torch.randn(1, 3, 64, 64)
    with torch.profiler.profile() as fused:
        expected = model(image)[0]
    with explicit_attention(), torch.profiler.profile() as explicit:
        got = model(image)[0]
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
    names = [{event.key for event in profile.key_averages()} for profile in (fused, explicit)]
    assert ["aten::softmax" in name or "aten::_softmax" in name for name in names] == [False, True]


@pytest.mark.parametrize("processor_time", [False, True], ids=["clock", "processor"])
@pytest.mark.parametrize("train", [False, True], ids=["forward", "backward"])
def test_a_step_takes_time(train, processor_time):
    assert measure_time(Task({**VIT, "img_size": 32}, 32, train=train), 0.01, processor_time) > 0


def test_the_fastest_step_of_the_wanted_clock_counts(monkeypatch):
    made = []

    class FakeTimer:
        def __init__(self, _: str, **options) -> None:
            made.append(options)

        def blocked_autorange(self, min_run_time: float) -> SimpleNamespace:
            return SimpleNamespace(times=[3.0, 2.0 * min_run_time, 5.0])

    monkeypatch.setattr("csan_mm.analysis.input_sizes.Timer", FakeTimer)
    task = Task({**VIT, "img_size": 32}, 32, batch_size=4)
    assert [measure_time(task, 0.5, processor_time) for processor_time in (False, True)] == [0.25, 0.25]
    assert "timer" not in made[0]
    assert (made[1]["timer"], made[1]["num_threads"]) == (time.process_time, 1)


def test_a_step_in_training_runs_backward(monkeypatch):
    seen = []
    backward = torch.Tensor.backward
    monkeypatch.setattr(torch.Tensor, "backward", lambda self: (seen.append(self.dtype), backward(self))[1])
    prepare(Task({**VIT, "img_size": 32}, 32, train=True, amp=True))()
    prepare(Task({**VIT, "img_size": 32}, 32))()
    assert seen == [torch.float32]


POINTS = [
    Point("A", 224, 0.5, 10 * MIB),
    Point("B", 224, 1.0, 40 * MIB),
    Point("A", 448, 2.0, 30 * MIB),
    Point("B", 448, None, None),
]


def test_table_compares_with_the_first_at_each_size():
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in format_points(POINTS).splitlines()[2:]]
    assert rows == [
        ["224", "A", "2.00", "10.0", "", ""],
        ["224", "B", "1.00", "40.0", "2.0x", "25%"],
        ["448", "A", "0.50", "30.0", "", ""],
        ["448", "B", "out of memory", "", "", ""],
    ]


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_picture(tmp_path, suffix):
    draw(POINTS, tmp_path / "new" / f"sizes.{suffix}", "title")
    (path,) = (tmp_path / "new").iterdir()
    assert path.read_bytes()[:5] == {"png": b"\x89PNG\r", "svg": b"<?xml"}[suffix]


def test_a_process_that_dies_is_named():
    with pytest.raises(RuntimeError, match=r"measuring csan_mm\.ViTCSaN at 32 failed: .*out_type='nothing'"):
        measure_memory(Task({**VIT, "out_type": "nothing"}, 32))


def test_a_killed_process_is_out_of_memory(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, -signal.SIGKILL))
    (point,) = compare({"ViT": lambda size: Task({**VIT, "img_size": size}, size)}, [32], min_run_time=0.01)
    assert (point.seconds, point.bytes) == (None, None)


@pytest.mark.slow
def test_memory_of_a_cpu_shows_the_attention_weights():
    """784 tokens and 2 heads: 4.7 MiB of weights, which only explicit attention has."""
    fused, explicit = (measure_memory(Task({**VIT, "with_cls_token": False}, 448, explicit=e)) for e in (False, True))
    weights = 2 * 784**2 * 4
    assert weights < explicit
    assert fused < weights
    hidden = 784 * 4 * 32 * 4  # what the MLP widens the tokens to
    assert hidden < fused < 10 * hidden


@pytest.mark.slow
def test_command(repo_root, tmp_path, monkeypatch, capsys):
    tool = repo_root / "tools/analysis_tools/benchmark_inputs.py"
    arguments = [
        "--sizes",
        "32",
        "64",
        "--min-run-time",
        "0.01",
        "--device",
        "cpu",
        "--out",
        str(tmp_path / "sizes.png"),
    ]
    monkeypatch.setattr(sys, "argv", [str(tool), *arguments])
    runpy.run_path(str(tool), run_name="__main__")
    text = capsys.readouterr().out
    assert text.count("| WeightFormer-T |") == text.count("| DeiT-T |") == text.count("| DeiT-T, explicit |") == 2
    assert (tmp_path / "sizes.png").stat().st_size > 10_000
