"""What can be said of commands that are not run: their syntax, and whether the paths, options and targets in them exist."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from docs_check.page import Block, Page, Problem

#: Whose options a launcher hands on.
_BEHIND = {
    "dist_train.sh": "tools/train.py",
    "slurm_train.sh": "tools/train.py",
    "dist_test.sh": "tools/test.py",
    "slurm_test.sh": "tools/test.py",
}
_SEPARATORS = {"&&", "||", "|", ";", "&"}
_PLAIN_PATH = re.compile(r"[\w./-]+")
_EXTRAS = re.compile(r"(?:\.|csan_mm)\[([\w,]+)\]")


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
        return re.search(rf"^{re.escape(name)}:", (self.root / "Makefile").read_text(), re.MULTILINE) is not None

    def has_extra(self, name: str) -> bool:
        """Whether ``csan_mm[name]`` can be installed."""
        return (
            re.search(rf"^{re.escape(name)} = \[", (self.root / "pyproject.toml").read_text(), re.MULTILINE) is not None
        )


def check_unrun(page: Page, block: Block, repository: Repository) -> Iterator[Problem]:
    """Check a block without running it.

    Args:
        page: Its page.
        block: The block.
        repository: What it may name.
    """
    if block.language == "python":
        try:
            compile("\n" * (block.line - 1) + block.code, page.name, "exec")
        except SyntaxError as error:
            yield Problem(page.name, error.lineno or block.line, f"no Python: {error.msg}")
        return
    script = "\n" * (block.line - 1) + block.code
    done = subprocess.run(["bash", "-n", "-c", script, page.name], capture_output=True, text=True)
    if done.returncode:
        yield Problem(page.name, block.line, "bash cannot parse this", done.stderr)
        return
    for line, command in _commands(block):
        for says in _doubts(command, repository):
            yield Problem(page.name, line, says)


def _commands(block: Block) -> Iterator[tuple[int, list[str]]]:
    """Simple commands as words, with the line they begin on."""
    started, text = block.line, ""
    for number, line in enumerate(block.code.splitlines(), start=block.line):
        started = started if text else number
        text += line
        if text.endswith("\\"):
            text = text[:-1]
            continue
        command: list[str] = []
        for word in shlex.split(text, comments=True):
            if word in _SEPARATORS:
                yield started, command
                command = []
            else:
                command.append(word)
        yield started, command
        text = ""


def _doubts(words: list[str], repository: Repository) -> Iterator[str]:
    for word in words:
        path = word.partition("=")[2] if re.match(r"-*[\w.-]+=", word) else word
        if repository.is_absent(path):
            yield f"{path} is not in the repository"
        for extra in ",".join(_EXTRAS.findall(word)).split(","):
            if extra and not repository.has_extra(extra):
                yield f"{word}: pyproject.toml has no extra {extra!r}"
    while words and re.match(r"\w+=", words[0]):  # variables of this command
        words = words[1:]
    if words[:1] == ["make"]:
        yield from (f"make has no target {name}" for name in words[1:] if not _is_target(name, repository))
        return
    tool, options = _tool(words)
    for option in options:
        name = option.partition("=")[0]
        if tool and name.startswith("-") and not re.search(rf"(?<![\w-]){name}(?![\w-])", repository.help_of(*tool)):
            yield f"{' '.join(tool)} has no option {name}"


def _is_target(word: str, repository: Repository) -> bool:
    return "=" in word or word.startswith("-") or repository.has_target(word)


def _tool(words: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """The command whose help lists the options in ``words``, and the words behind it; none for what is not ours."""
    if words[:3] == ["python", "-m", "csan_mm"]:
        return ("-m", "csan_mm", *words[3:4]), words[4:]
    for index, word in enumerate(words[:2]):
        name = Path(word).name
        if name in _BEHIND:
            return (_BEHIND[name],), words[index + 1 :]
        if word.endswith(".py"):
            return (word,), words[index + 1 :]
    return (), []
