"""``csan_mm selftest``: what is right passes, what is wrong is said, and the report can be pasted."""

import argparse

import pytest
import torch
from torch import nn

from csan_mm.analysis import selfchecks
from csan_mm.cli import selftest
from csan_mm.commands import main


@pytest.mark.parametrize("precision", selfchecks.PRECISIONS)
@pytest.mark.parametrize("name", selfchecks.NETWORKS)
def test_every_family_in_every_precision(name, precision):
    assert selfchecks.network(name, "cpu", precision).startswith("differs by ")


class Careless(nn.Module):
    """A map whose values in float32 are not those in float64, or whose gradient is not that of its value."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.conv, self.what = nn.Conv2d(3, 4, 3), what

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor]:
        y = self.conv(image)
        if image.dtype == torch.float64:
            return (y,)
        if self.what == "value":
            return (y * 1.01,)
        if self.what == "gradient":
            return (y.detach() + 1.01 * y - 1.01 * y.detach(),)
        return (y / 0,)


@pytest.mark.parametrize(
    ("what", "words"), [("value", "differs by 1"), ("gradient", "differs by"), ("infinite", "not finite")]
)
def test_wrong_values_and_gradients_are_found(what, words, monkeypatch):
    monkeypatch.setitem(selfchecks.NETWORKS, "ViTCSaN", lambda: Careless(what))
    with pytest.raises(AssertionError, match=words):
        selfchecks.network("ViTCSaN", "cpu", "float32")


def test_two_processes_have_the_gradients_of_one():
    assert selfchecks.processes("cpu").startswith("2 processes, gradients differ by ")


def test_deterministic_mode_is_left_as_it_was():
    assert selfchecks.deterministic("cpu") == "6 families"
    assert not torch.are_deterministic_algorithms_enabled()


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One network; the slow checks answer at once."""
    monkeypatch.setattr(selfchecks, "NETWORKS", {"CBT": selfchecks.NETWORKS["CBT"]})
    for name in ("exported", "processes", "deterministic"):
        monkeypatch.setattr(selfchecks, name, lambda device: f"as it should be on the {device}")

    def without_packages(device, path):
        raise selfchecks.NotRunError("onnx is missing")

    monkeypatch.setattr(selfchecks, "onnx", without_packages)


def test_the_report(monkeypatch, capsys):
    quick(monkeypatch)
    assert main(["selftest", "--cpu"]) == 0
    shown = capsys.readouterr()
    table = [line for line in shown.out.splitlines() if line.startswith("|")]
    assert len(table) == 2 + 3 + 4 + 1
    assert "| ONNX | cpu | not run | onnx is missing |" in table
    assert "| everything on a GPU | cuda | not run | --cpu leaves it out |" in table
    assert shown.out.splitlines()[-1] == "6 ok, 0 FAILED, 2 not run"
    assert "torch 2" in shown.out
    assert shown.err.count("\n") == 8  # as they come


def test_a_failure_is_in_the_report_and_the_status(monkeypatch, capsys):
    quick(monkeypatch)
    monkeypatch.setattr(selfchecks, "deterministic", lambda device: 1 // 0)
    assert selftest.run(argparse.Namespace(cpu=True)) == 2
    assert "| same gradients twice in deterministic mode | cpu | FAILED | ZeroDivisionError:" in capsys.readouterr().out
