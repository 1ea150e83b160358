"""The Makefile's environment: made once, again after a failure, and clear words where there is no Python for it."""

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

#: What make, or its target test-cpus, sets for the tests themselves.
UNDER_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "PYTEST_ARGS", "WORKERS", "VENV", "PYTHON")
CPUS = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_CBWR", "CSAN_MM_TEST_SEED")

#: A virtual environment's python that does what FAKE_* say and writes down what it was asked for.
FAKE_PYTHON = """#!/bin/sh
echo "$*" >>"$RECORD"
case "$*" in
    *"pip "*--version*) exit 0 ;;
    *" install "*--editable*) exit "${FAKE_INSTALL:-0}" ;;
    *" install "*opencv-python-headless*) touch "$RECORD.cv2" ;;
    *"import cv2"*) test -z "$FAKE_NO_LIBGL" || test -e "$RECORD.cv2" ;;
esac
"""


@pytest.fixture
def make(tmp_path: Path, repo_root: Path) -> Callable[..., tuple[int, list[str], str]]:
    """Runs make in a copy of what it looks at; gives status, what python was asked for, and the output."""
    if shutil.which("make") is None:
        pytest.skip("no make")
    for name in ("Makefile", "setup.py", "pyproject.toml", "requirements/constraints.txt", "csan_mm/version.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(repo_root / name, tmp_path / name)
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(FAKE_PYTHON)
    python.chmod(0o755)
    record = tmp_path / "record"

    def run(*arguments: str, **variables: str) -> tuple[int, list[str], str]:
        record.write_text("")
        # The tests themselves may run under make, with variables of their own.
        outside = {name: value for name, value in os.environ.items() if name not in UNDER_MAKE + CPUS}
        environment = {**outside, "RECORD": str(record), **variables}
        command = ["make", "--no-print-directory", *arguments]
        done = subprocess.run([*command, "VENV=env"], cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done.returncode, record.read_text().splitlines(), done.stdout + done.stderr

    return run


def installs(lines: list[str]) -> list[str]:
    return [line for line in lines if " install " in line]


def test_installs_against_the_constraints_and_once(make):
    code, lines, output = make("test", "PYTEST_ARGS=-k x")
    assert code == 0, output
    (install,) = installs(lines)
    assert install.endswith("install --constraint requirements/constraints.txt --editable .[onedl,digits,export,test]")
    assert lines[-1] == "-m pytest -n auto -k x"
    code, lines, _ = make("test")
    assert (code, [line.strip() for line in lines]) == (0, ["-m pytest -n auto"])


def test_changed_requirements_install_again(make, tmp_path):
    make("env")
    os.utime(tmp_path / "requirements" / "constraints.txt", (2**32, 2**32))
    assert len(installs(make("env")[1])) == 1


def test_failed_installation_leaves_no_stamp(make):
    code, lines, _ = make("lint", FAKE_INSTALL="1")
    assert code != 0
    assert not any("ruff" in line for line in lines)
    assert len(installs(make("lint")[1])) == 1


def test_headless_opencv_cures_a_missing_libgl(make):
    code, lines, output = make("env", FAKE_NO_LIBGL="1")
    assert code == 0
    assert installs(lines)[1].endswith(
        "install --constraint requirements/constraints.txt --force-reinstall --no-deps opencv-python-headless"
    )
    assert "libGL" in output


def test_old_python_is_refused_by_name(make, tmp_path):
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\ntest "$1" = --version && { echo "Python 3.9.2"; exit 0; }\nexit 1\n')
    old.chmod(0o755)
    shutil.rmtree(tmp_path / "env")
    code, _, output = make("env", f"PYTHON={old}")
    assert code != 0
    assert "is Python 3.9.2, and csan_mm needs 3.10 or newer: name another with make PYTHON=" in output
    assert not (tmp_path / "env").exists()
    code, _, output = make("env", "PYTHON=")
    assert code != 0
    assert "no Python 3.10 to 3.13 found" in output


def test_help_names_the_commands(make):
    _, _, output = make("help")
    for target in ("make demo", "make test", "make test-slow", "make lint", "make docs-check"):
        assert target in output


def test_the_tests_run_under_every_processor_setting_and_seed_although_one_fails(make, tmp_path):
    """The settings reach the tests' process; a failure under one is named at the end and hides no other run."""
    python = tmp_path / "env" / "bin" / "python"
    spy = (
        'case "$*" in *pytest*) echo "$ATEN_CPU_CAPABILITY$ONEDNN_MAX_CPU_ISA$MKL_CBWR$CSAN_MM_TEST_SEED" >>"$RECORD"; '
    )
    python.write_text(FAKE_PYTHON + spy + 'test "$MKL_CBWR" != COMPATIBLE ;;\nesac\n')
    code, lines, output = make("test-cpus", "PYTEST_ARGS=-k x")
    runs = [(setting, line) for line, setting in itertools.pairwise(lines) if line.startswith("-m pytest")]
    settings = ["default", "avx2", "SSE41", "AVX2", "COMPATIBLE", "AVX2", "1", "2", "3"]
    assert runs == [(setting, "-m pytest -n auto -k x") for setting in settings]
    assert code != 0
    assert "error: tests fail under MKL_CBWR=COMPATIBLE\n" in output


def test_the_oldest_versions_have_an_environment_of_their_own(make, tmp_path, repo_root):
    for name in ("oldest.txt", "oldest-without.txt"):
        shutil.copy(repo_root / "requirements" / name, tmp_path / "requirements")
    shutil.copytree(tmp_path / "env", tmp_path / ".venv-oldest")
    code, lines, output = make("test-oldest", "PYTEST_ARGS=-k x")
    assert code == 0, output
    (install,) = installs(lines)
    assert install.endswith("install --constraint requirements/oldest.txt --editable .[openmmlab,digits,export,test]")
    assert lines[-1].startswith("-m pytest -n auto --deselect=tests/checkpoint/test_export.py --deselect=tests/")
    assert lines[-1].endswith(" -k x")


def test_what_is_left_out_there_exists(repo_root):
    for line in (repo_root / "requirements" / "oldest-without.txt").read_text().splitlines()[1:]:
        name, reason = line.split(" ", 1)
        path, _, function = name.partition("[")[0].partition("::")
        assert reason
        assert f"def {function}" in (repo_root / path).read_text()
