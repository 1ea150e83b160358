"""The wheel and its .mim folder, the pinned versions, and the files that state them again."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from source_tree import build_wheel, copy_tracked, tracked

from csan_mm import __version__
from csan_mm.doctor.versions import OLDEST, ONEDL, OPENMMLAB, TESTED

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


#: The check of the documentation, with its stand-in for srun, and its site.
REPOSITORY_ONLY = tuple(
    f"tools/misc/{name}" for name in ("check_docs.py", "docs_check/", "build_docs.py", "docs_site/")
)


@pytest.fixture(scope="module")
def source(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source tree in which a wheel was built: ``built.whl``."""
    root = copy_tracked(repo_root, tmp_path_factory.mktemp("source"))
    build_wheel(root, tmp_path_factory.mktemp("wheel")).rename(root / "built.whl")
    return root


@pytest.fixture(scope="module")
def wheel_names(source: Path) -> set[str]:
    return set(zipfile.ZipFile(source / "built.whl").namelist())


@pytest.fixture(scope="module")
def project(repo_root: Path) -> dict:
    return tomllib.loads((repo_root / "pyproject.toml").read_text())["project"]


def pins(repo_root: Path) -> dict[str, set[str]]:
    lines = (repo_root / "requirements" / "constraints.txt").read_text().splitlines()
    pinned: dict[str, set[str]] = {}
    for line in lines:
        if line and not line.startswith("#"):
            name, version = re.match(r"([\w.-]+)==([^;\s]+)", line).groups()
            pinned.setdefault(canonicalize_name(name), set()).add(version)
    return pinned


def test_wheel_has_what_mim_looks_for(wheel_names, repo_root):
    wanted = tracked(repo_root, "configs", "tools", "model-index.yml")
    wanted = {name for name in wanted if not name.startswith(REPOSITORY_ONLY) and not name.endswith("ruff.toml")}
    expected = {f"csan_mm/.mim/{name}" for name in wanted}
    assert expected <= wheel_names
    assert {"csan_mm/.mim/model-index.yml", "csan_mm/.mim/tools/train.py"} <= wheel_names


def test_wheel_has_the_package_and_nothing_else(wheel_names, repo_root):
    assert tracked(repo_root, "csan_mm") <= wheel_names
    strange = {
        name for name in wheel_names
        if not name.startswith(("csan_mm/", f"csan_mm-{__version__}.dist-info/")) or "__pycache__" in name or "/.ruff" in name
    }  # fmt: skip
    assert not strange


def test_wheel_has_nothing_that_only_the_repository_needs(source, wheel_names):
    left_out = tuple(f"csan_mm/.mim/{name}" for name in REPOSITORY_ONLY)
    assert not [name for name in wheel_names if name.startswith(left_out)]
    runnable = {
        entry.filename.removeprefix("csan_mm/.mim/tools/")
        for entry in zipfile.ZipFile(source / "built.whl").infolist()
        if entry.external_attr >> 16 & 0o111 and not entry.is_dir()
    }
    assert all(name.endswith((".sh", ".py")) for name in runnable), runnable


def test_wheel_says_that_it_is_typed(wheel_names):
    assert "csan_mm/py.typed" in wheel_names


def test_wheel_has_the_console_script(wheel_names):
    """mim finds csan_mm in no wheel, with or without it (tests/tools/test_mim.py); in an editable installation it does."""
    assert any(name.endswith("entry_points.txt") for name in wheel_names)


def test_building_leaves_nothing_in_the_source_tree(source, repo_root):
    left = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()} - tracked(repo_root)
    assert {name for name in left if not name.startswith("csan_mm.egg-info/")} == {"built.whl"}
    assert not (source / "build").exists()


@pytest.mark.slow
def test_wheel_from_the_source_distribution_is_the_same(source, wheel_names, tmp_path):
    (source / "built.whl").rename(tmp_path / "built.whl")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    (tmp_path / "built.whl").rename(source / "built.whl")
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert set(zipfile.ZipFile(wheel).namelist()) == wheel_names


def test_every_requirement_is_pinned_within_its_range(project, repo_root):
    pinned = pins(repo_root)
    extras = project["optional-dependencies"]
    for text in [*project["dependencies"], *extras["onedl"], *extras["digits"], *extras["export"], *extras["test"]]:
        requirement = Requirement(text)
        versions = pinned.get(canonicalize_name(requirement.name))
        assert versions, f"{text} is not in constraints.txt"
        assert all(requirement.specifier.contains(version) for version in versions), text


def test_doctor_knows_the_tested_and_the_oldest_versions(project, repo_root):
    pinned = pins(repo_root)
    assert {name: {version} for name, version in TESTED.items()} == {name: pinned[name] for name in TESTED}
    lower = {Requirement(text).name: Requirement(text) for text in project["dependencies"]}
    for name in ("torch", "torchvision", "timm", "safetensors"):
        assert str(lower[name].specifier) == f">={OLDEST[name]}"
    assert project["requires-python"] == f">={OLDEST['python']}"


def test_both_lines_are_extras_and_neither_is_forced(project):
    names = {Requirement(text).name for text in project["dependencies"]}
    assert names.isdisjoint([*ONEDL.values(), *OPENMMLAB.values()])
    assert {Requirement(text).name for text in project["optional-dependencies"]["onedl"]} >= {"onedl-mmcv", "onedl-mim"}
    assert {Requirement(text).name for text in project["optional-dependencies"]["openmmlab"]} >= {"mmcv-lite", "mmdet"}


def test_other_files_state_the_same(project, repo_root):
    assert yaml.safe_load((repo_root / "CITATION.cff").read_text())["version"] == __version__
    hooks = yaml.safe_load((repo_root / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    (ruff,) = pins(repo_root)["ruff"]
    assert all(hook["additional_dependencies"] == [f"ruff=={ruff}"] for hook in hooks)
    licence = (repo_root / "LICENSE").read_text()
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in licence
    assert "END OF TERMS AND CONDITIONS" in licence


def test_ci_runs_the_commands_of_the_makefile(repo_root):
    commands = [line for line in (repo_root / ".ci" / "run").read_text().splitlines() if line.startswith("make ")]
    assert commands == ["make lint", "make test"]
    targets = re.findall(r"^([\w-]+):", (repo_root / "Makefile").read_text(), flags=re.MULTILINE)
    assert {"demo", "test", "test-slow", "lint"} <= set(targets)


def metafiles(root: Path) -> list[Path]:
    return [root / name for name in yaml.safe_load((root / "model-index.yml").read_text())["Import"]]


def test_every_metafile_is_imported(repo_root):
    assert sorted(metafiles(repo_root)) == sorted((repo_root / "configs").glob("*/metafile.yml"))


def test_metafile_entries_are_true(repo_root):
    """Each config exists and stands once, names are unique in lower case, collections are known, and no weights are promised."""
    contents = [yaml.safe_load(path.read_text()) for path in metafiles(repo_root)]
    collections = [entry["Name"] for content in contents for entry in content.get("Collections", [])]
    models = [entry for content in contents for entry in content.get("Models", [])]
    assert len({name.lower() for name in collections}) == len(collections)
    names = [entry["Name"].lower() for entry in models]
    assert len(set(names)) == len(names)
    for entry in models:
        assert entry["In Collection"] in collections, entry
        assert (repo_root / entry["Config"]).is_file(), entry
        assert Path(entry["Config"]).stem == entry["Name"], entry
    text = "\n".join(path.read_text() for path in metafiles(repo_root))
    assert "Weights" not in text


def test_metafiles_load_as_mim_loads_them(repo_root):
    load = pytest.importorskip("modelindex.load_model_index").load
    index = load(str(repo_root / "model-index.yml"))
    assert {collection.name for collection in index.collections}
