"""What there is in the repository that a page can name."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

_PLAIN_PATH = re.compile(r"[\w./-]+")


class Repository:
    """The files of the repository, what its tools' ``-h`` say, and the targets of its Makefile.

    Args:
        root: Its folder.
        files: Their paths from there.
    """

    def __init__(self, root: Path, files: list[str]) -> None:
        self.root = root
        self.files = files
        folders = {str(parent) for name in files for parent in Path(name).parents}
        self._known = {*files, *folders}
        self._tops = {name.split("/")[0] for name in files if "/" in name}

    def is_absent(self, word: str) -> bool:
        """Whether a word is a path into one of the repository's folders, and nothing is there."""
        is_path = "/" in word and _PLAIN_PATH.fullmatch(word) and word.split("/")[0] in self._tops
        return bool(is_path) and str(Path(word)) not in self._known

    @cache  # noqa: B019 (there is one repository, for as long as the process lives)
    def help_of(self, *arguments: str) -> str:
        """What a command says about its options."""
        command = [sys.executable, *arguments, "-h"]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else ""

    def has_target(self, name: str) -> bool:
        """Whether ``make`` knows it."""
        return self._has_line("Makefile", rf"{re.escape(name)}:")

    def has_extra(self, name: str) -> bool:
        """Whether ``csan_mm[name]`` can be installed."""
        return self._has_line("pyproject.toml", rf"{re.escape(name)} = \[")

    def _has_line(self, name: str, beginning: str) -> bool:
        return re.search(f"^{beginning}", (self.root / name).read_text(encoding="utf-8"), re.MULTILINE) is not None
