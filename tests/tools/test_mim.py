"""How csan_mm is reached once installed: editable or from a wheel, by mim or by ``python -m csan_mm``.

==========================================  ========  =====
command                                     editable  wheel
==========================================  ========  =====
mim train csan_mm PATH, mim test ...        yes       no (mim looks for csan_mm in csan_mm-0.1.0.dist-info)
mim train onedl-mmdetection PATH            yes       yes
python -m csan_mm train PATH, test PATH     yes       yes
==========================================  ========  =====
"""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from source_tree import build_wheel, copy_tracked

pytest.importorskip("mim")

Run = Callable[..., subprocess.CompletedProcess]

MIM, MODULE = ["-m", "mim"], ["-m", "csan_mm"]


def test_mim_finds_the_tools_of_an_editable_installation(repo_root, tmp_path):
    """What mim train and mim test do first, from another folder; the slow tests do the rest."""
    ask = "from mim.utils import get_installed_path; print(get_installed_path('csan_mm'))"
    done = subprocess.run([sys.executable, "-c", ask], cwd=tmp_path, capture_output=True, text=True)
    found = Path(done.stdout.strip().splitlines()[-1])
    if found.name.endswith(".dist-info"):
        pytest.skip("csan_mm is installed from a wheel here")
    assert not (found / ".mim").exists()
    assert (found / "tools" / "train.py").is_file()


def test_config_names_occur_once_below_the_root(repo_root):
    """mim train csan_mm NAME walks the whole tree and refuses a name it finds twice."""
    names = [path.name for path in repo_root.glob("configs/*/*.py")]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("model", ["swin", "no-such-model"])
def test_mim_search_reads_the_model_index(repo_root, model):
    from mim.commands.search import convert2df, filter_by_models
    from modelindex.load_model_index import load

    frame = convert2df(load(str(repo_root / "model-index.yml")))
    if frame.empty:
        pytest.skip("the metafiles list collections only")
    # mim looks names up in lower case.
    names = [name for name in frame.index if model in name]
    found = filter_by_models(frame, [frame.loc[names[0]]["model"]]) if names else frame.iloc[:0]
    assert found.empty == (model == "no-such-model")


def run_in(python: str, folder: Path, digits_root: Path) -> Run:
    environment = {**os.environ, "DIGITS_ROOT": str(digits_root), "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)

    def run(*arguments: object) -> subprocess.CompletedProcess:
        command = [python, *map(str, arguments)]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)

    return run


@pytest.fixture
def editable(tmp_path: Path, digits_root: Path) -> Run:
    """Runs commands in the environment of the tests, where csan_mm is installed in editable form, from another folder."""
    return run_in(sys.executable, tmp_path, digits_root)


@pytest.fixture(scope="session")
def wheel_python(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An environment with csan_mm from a wheel, and all other packages from the environment of the tests."""
    root = tmp_path_factory.mktemp("wheel")
    wheel = build_wheel(copy_tracked(repo_root, tmp_path_factory.mktemp("source")), root)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root / "env")], check=True)
    python = root / "env" / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip())
    # A plain path: the .pth files in that folder, the editable csan_mm's among them, are not read.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    return str(python)


@pytest.fixture
def from_wheel(wheel_python: str, tmp_path: Path, digits_root: Path) -> Run:
    """Runs commands where csan_mm is installed from a wheel."""
    run = run_in(wheel_python, tmp_path, digits_root)
    place = run("-c", "import csan_mm; print(csan_mm.__file__)").stdout.strip().splitlines()[-1]
    assert Path(place).is_relative_to(Path(wheel_python).parents[1])
    return run


@pytest.fixture(params=["editable", "from_wheel"])
def installed(request: pytest.FixtureRequest) -> Run:
    return request.getfixturevalue(request.param)


def assert_trained(done: subprocess.CompletedProcess, work_dir: Path) -> None:
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert (work_dir / "iter_2.pth").is_file()


@pytest.mark.slow
def test_mim_train_and_test_editable(editable, tiny_config, tmp_path):
    config = tiny_config()
    assert_trained(editable(*MIM, "train", "csan_mm", config, "--work-dir", "w"), tmp_path / "w")
    done = editable(*MIM, "test", "csan_mm", config, "--checkpoint", "w/iter_2.pth", "--work-dir", "t")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Testing finished successfully" in done.stdout


@pytest.mark.slow
def test_mim_train_without_workers(editable, tiny_config, tmp_path):
    config = tiny_config(more="train_dataloader.update(persistent_workers=True, prefetch_factor=2)\n")
    assert_trained(editable(*MIM, "train", "csan_mm", config, "--work-dir", "w"), tmp_path / "w")


@pytest.mark.slow
def test_mim_train_says_why_one_image_is_too_few_for_a_batch_norm(editable, tiny_config):
    config = tiny_config("segmentation")
    one = ["--cfg-options", "train_dataloader.batch_size=1"]
    done = editable(*MIM, "train", "csan_mm", config, "--work-dir", "w", *one)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "error: a batch norm got one value per channel ([1, 16, 1, 1])" in said
    assert "train_dataloader.batch_size=2 or more" in said


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason="onedl-mim takes csan_mm-0.1.0.dist-info, first in the record, for the package")
def test_mim_train_from_wheel(from_wheel, tiny_config, tmp_path):
    assert_trained(from_wheel(*MIM, "train", "csan_mm", tiny_config(), "--work-dir", "w"), tmp_path / "w")


@pytest.mark.slow
def test_mim_train_mmdetection(installed, tiny_config, tmp_path):
    done = installed(*MIM, "train", "onedl-mmdetection", tiny_config(), "--work-dir", "w")
    assert_trained(done, tmp_path / "w")


@pytest.mark.slow
def test_module_train_and_test(installed, tiny_config, tmp_path):
    config = tiny_config()
    assert_trained(installed(*MODULE, "train", config, "--work-dir", "w"), tmp_path / "w")
    done = installed(*MODULE, "test", config, "w/iter_2.pth", "--work-dir", "t")
    assert done.returncode == 0, done.stderr[-2000:]
    refused = installed(*MODULE, "test", config, "no.pth")
    assert refused.returncode == 1
    assert "error: checkpoint no.pth does not exist" in refused.stderr
