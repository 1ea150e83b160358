"""Small configs on a small digits data set, and the tools run in this process: importing torch anew would take longest."""

import importlib.util
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from tiny_configs import CONFIGS, FAMILIES, TINY, TOOLS


@pytest.fixture(scope="session")
def digits_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten training and ten validation images in all forms; every digit class has its folder."""
    from csan_mm.datasets import DigitsSpec, build_digits

    root = tmp_path_factory.mktemp("tools") / "digits"
    build_digits(root, DigitsSpec(train_count=10, val_count=10, image_size=(64, 64)))
    return root


@pytest.fixture
def tiny_config(tmp_path: Path, digits_root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes a small config of a family; what is behind is appended to it."""
    monkeypatch.setenv("DIGITS_ROOT", str(digits_root))

    def write(family: str = "detection", more: str = "") -> Path:
        base, model = FAMILIES[family]
        path = tmp_path / f"{tmp_path.name.replace('.', '-')}_{family}.py"
        text = TINY.format(base=str(CONFIGS / "digits" / base), model=model)
        path.write_text(text + more)
        return path

    return write


@pytest.fixture(scope="session")
def load_tool() -> Callable[[str], ModuleType]:
    """Imports a script of tools/ under its own name."""

    def load(script: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(Path(script).stem, TOOLS / script)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@dataclass(frozen=True)
class Ended:
    """How a tool ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def tool(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture
) -> Iterator[Callable[..., Ended]]:
    """Runs a script of tools/ in this process, from a folder that is not the repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "LOCAL_RANK", "0")
    monkeypatch.setenv("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "2"))  # else the busy machine chooses
    monkeypatch.syspath_prepend(str(TOOLS))

    def run(script: str, *arguments: object) -> Ended:
        forget_instances()
        monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
        capfd.readouterr()
        try:
            runpy.run_path(str(TOOLS / script), run_name="__main__")
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Ended(code, *capfd.readouterr())

    yield run
    forget_instances()


def forget_instances() -> None:
    """mmengine's loggers keep the output stream, and its message hubs the counters, of the run before."""
    from mmengine.logging import MessageHub, MMLogger
    from mmengine.registry import DefaultScope
    from mmengine.visualization import Visualizer

    kinds = [MMLogger, MessageHub, DefaultScope, Visualizer]
    while kinds:
        kind = kinds.pop()
        kind._instance_dict.clear()
        kinds += kind.__subclasses__()
