"""The command that mends a lack is one that works anywhere: csan_mm is on no package index."""

import re
import sys
from importlib import metadata

import pytest
from source_tree import tracked

from csan_mm.common.install import install_command


@pytest.mark.parametrize("extra", ["onedl", "openmmlab", "digits", "export"])
def test_names_the_packages_of_an_extra_and_not_us(extra, repo_root):
    if sys.version_info < (3, 11):
        pytest.skip("Python 3.10 has no reader for pyproject.toml")
    import tomllib

    wanted = tomllib.loads((repo_root / "pyproject.toml").read_text())["project"]["optional-dependencies"][extra]
    command = install_command(extra)
    assert command.startswith("python -m pip install ")
    names = [re.match(r"[\w-]+", name).group() for name in wanted]
    assert all(name in command for name in names)
    assert len(command.split()) == 4 + len(wanted)
    assert "csan_mm" not in command


def test_without_an_installation_it_says_from_where(monkeypatch):
    def absent(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    assert install_command("onedl").startswith("python -m pip install '.[onedl]' (in the folder")


def test_no_page_and_no_message_installs_us_from_an_index(repo_root):
    """Whoever registered the name there would own our users."""
    listed = [
        name for name in tracked(repo_root) if name.endswith((".md", ".py", ".sh")) and not name.startswith("tests")
    ]
    assert "README.md" in listed
    wrong = [
        f"{name}: {line.strip()}"
        for name in listed
        for line in (repo_root / name).read_text(encoding="utf-8").splitlines()
        if re.search(r"pip install (-\S+ )*['\"]?csan_mm", line) and "@ git+" not in line and "would fetch" not in line
    ]
    assert not wrong
