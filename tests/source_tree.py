"""The project's files in another folder, and a wheel made of them without a network."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def tracked(repo_root: Path, *folders: str) -> set[str]:
    """Names of the files that git knows, below some folders or all."""
    done = subprocess.run(["git", "ls-files", *folders], cwd=repo_root, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("no git repository")
    return {name for name in done.stdout.split("\n") if name and (repo_root / name).is_file()}


def copy_tracked(repo_root: Path, target: Path) -> Path:
    """Copy these files: test processes that build at the same time do not meet in one source tree."""
    for name in tracked(repo_root):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(repo_root / name, target / name)
    return target


def build_wheel(source: Path, folder: Path) -> Path:
    """Build a wheel of a source tree."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "--no-index"]
    subprocess.run([*command, "-w", str(folder), str(source)], check=True, capture_output=True)
    (wheel,) = folder.glob("csan_mm-*.whl")
    return wheel
