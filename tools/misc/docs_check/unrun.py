"""What can be said of commands that are not run: their syntax, and whether the paths, options and targets in them exist."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from docs_check.page import Block, Page, Problem
from docs_check.repository import Repository

#: Whose options a launcher hands on.
_BEHIND = {
    "dist_train.sh": "tools/train.py",
    "slurm_train.sh": "tools/train.py",
    "dist_test.sh": "tools/test.py",
    "slurm_test.sh": "tools/test.py",
}
_SEPARATORS = {"&&", "||", "|", ";", "&"}
_EXTRAS = re.compile(r"(?:\.|csan_mm)\[([\w,]+)\]")


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
        whole = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        if tool and name.startswith("-") and not re.search(whole, repository.help_of(*tool)):
            yield f"{' '.join(tool)} has no option {name}"


def _is_target(word: str, repository: Repository) -> bool:
    return "=" in word or word.startswith("-") or repository.has_target(word)


def _tool(words: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """The command whose help lists the options in ``words``, and the words behind it; none for what is not ours."""
    if words[:3] == ["python", "-m", "csan_mm"]:
        return ("-m", "csan_mm", *words[3:4]), words[4:]
    if words[:1] == ["csan_mm"]:
        return ("-m", "csan_mm", *words[1:2]), words[2:]
    for index, word in enumerate(words[:2]):
        name = Path(word).name
        if name in _BEHIND:
            return (_BEHIND[name],), words[index + 1 :]
        if word.endswith(".py"):
            return (word,), words[index + 1 :]
    return (), []
