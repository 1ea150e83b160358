"""The import hook: for which module it answers, that a compiled one wins, what it says and what it refuses."""

import importlib
import importlib.util
import multiprocessing
import pickle
import pkgutil
import subprocess
import sys

import mmcv.ops
import mmengine.logging
import pytest
import torch

from csan_mm.ops.ext import finder, install, is_stand_in
from csan_mm.ops.ext.served import OPERATORS


@pytest.fixture
def logged(monkeypatch) -> list[str]:
    lines = []
    monkeypatch.setattr(mmengine.logging, "print_log", lambda message, **kwargs: lines.append(message))
    return lines


@pytest.fixture
def extension(logged):
    """A fresh ``mmcv._ext`` as the finder makes it, whatever is installed."""
    spec = finder.StandInFinder().find_spec("mmcv._ext")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_installing_twice_leaves_one_finder():
    install()
    install()
    assert [isinstance(entry, finder.StandInFinder) for entry in sys.meta_path].count(True) == 1


@pytest.mark.parametrize("name", ["mmcv", "_ext", "mmcv._ext2", "mmcv.ops", "mmcv._ext.nms", "mmdet._ext"])
def test_answers_for_no_other_module(name):
    assert finder.StandInFinder().find_spec(name, ["anywhere"]) is None


def test_stands_in_where_mmcv_has_no_compiled_extension(monkeypatch, logged):
    monkeypatch.setattr(mmcv, "__path__", [])  # hides a compiled one, should it exist
    monkeypatch.delitem(sys.modules, "mmcv._ext")
    assert is_stand_in()
    assert importlib.import_module("mmcv._ext").nms is OPERATORS["nms"]
    assert len(logged) == 1


def test_a_compiled_extension_wins(tmp_path, monkeypatch):
    (tmp_path / "_ext.py").write_text("compiled = True\n")
    monkeypatch.setattr(mmcv, "__path__", [*mmcv.__path__, str(tmp_path)] if is_stand_in() else [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "mmcv._ext")
    monkeypatch.setattr(mmcv, "_ext", mmcv._ext)  # put back afterwards
    importlib.invalidate_caches()
    install()
    assert importlib.import_module("mmcv._ext").compiled
    assert not is_stand_in()


def test_hook_needs_neither_torch_nor_mmcv(repo_root):
    code = (
        "import runpy, sys; found = runpy.run_path(sys.argv[1]); found['install']();"
        "assert sys.meta_path[-1].find_spec('mmcv._ext').name == 'mmcv._ext';"
        "print([name for name in ('torch', 'torchvision', 'mmengine', 'numpy') if name in sys.modules])"
    )
    path = repo_root / "csan_mm" / "ops" / "ext" / "finder.py"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(not is_stand_in(), reason="a compiled mmcv._ext is installed")
def test_detectors_import_with_one_line_and_no_warning():
    code = "import csan_mm, mmdet.models, mmseg.models"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "mm" in line]
    assert len(lines) == 1
    assert "csan_mm serves nms" in lines[0]


IMPORTED_FIRST = """
import mmdet.structures.mask as masks, mmseg.models.utils.point_sample as points
import csan_mm, numpy, torch
square = masks.BitmapMasks([numpy.eye(8, dtype=numpy.uint8)], 8, 8)
cut = square.crop_and_resize(numpy.array([[0.0, 0, 4, 4]]), (4, 4), numpy.array([0]), device="cpu")
print((cut.masks[0].diagonal() == 1).all(), points.point_sample(torch.ones(1, 1, 4, 4), torch.full((1, 1, 2), 0.5)).item())
"""


@pytest.mark.skipif(not is_stand_in(), reason="a compiled mmcv._ext is installed")
def test_modules_imported_before_csan_mm_get_their_operators():
    done = subprocess.run([sys.executable, "-c", IMPORTED_FIRST], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "True 1.0", done.stderr


@pytest.mark.parametrize(("rank", "lines"), [(None, 1), ("0", 1), ("3", 0)])
def test_only_the_first_process_says_so(rank, lines, monkeypatch, logged):
    monkeypatch.delenv("RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("RANK", rank)
    finder.StandInFinder().exec_module(importlib.util.module_from_spec(finder.StandInFinder().find_spec("mmcv._ext")))
    assert len(logged) == lines


def test_all_of_mmcv_ops_imports():
    assert all(hasattr(mmcv.ops, name) for name in mmcv.ops.__all__)


def test_what_is_not_served_names_itself_and_the_cure(extension):
    with pytest.raises(NotImplementedError, match="'carafe_forward'") as caught:
        extension.carafe_forward(torch.zeros(1), scale=2)
    for cure in ("mim install onedl-mmcv", "mim install 'mmcv>=2.1,<2.2'"):
        assert cure in str(caught.value)


def test_refusal_is_reached_through_mmcv(extension, monkeypatch):
    monkeypatch.setattr(importlib.import_module("mmcv.ops.roi_pool"), "ext_module", extension)
    with pytest.raises(NotImplementedError, match="'roi_pool_forward'"):
        mmcv.ops.RoIPool(2)(torch.zeros(1, 1, 4, 4), torch.zeros(1, 5))


def test_private_names_are_absent(extension):
    assert not hasattr(extension, "__path__")
    assert not hasattr(extension, "_nms")


def test_pickles(extension):
    assert pickle.loads(pickle.dumps(extension.nms)) is extension.nms
    with pytest.raises(NotImplementedError, match="psamask_forward"):
        pickle.loads(pickle.dumps(extension.psamask_forward))()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
def test_serves_a_forked_worker():
    boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 4.1]])
    with multiprocessing.get_context("fork").Pool(1) as pool:
        kept = pool.apply(_kept, (boxes.tolist(),))
    assert kept == [0]


def _kept(boxes: list) -> list[int]:
    return mmcv.ops.nms(torch.tensor(boxes), torch.tensor([0.9, 0.8]), 0.5)[1].tolist()


def test_environment_report_names_torchvision(extension):
    assert "torchvision" in extension.get_compiler_version()
    assert extension.get_compiling_cuda_version() == "not available"


@pytest.mark.skipif(
    not hasattr(pkgutil, "find_loader"), reason="mmcv's check needs pkgutil.find_loader (Python < 3.14)"
)
def test_mmcv_takes_its_operators_for_present():
    from mmcv.utils.ext_loader import check_ops_exist

    assert check_ops_exist()
