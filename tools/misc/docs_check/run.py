"""Running a page's blocks in its working folder."""

import difflib
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from docs_check.page import Block, Page, Problem

STAND_INS = Path(__file__).resolve().parent / "stand_ins"
LINES_SHOWN = 15

#: Both keep the page's line numbers: what fails is named by them, in bash's messages and in Python's tracebacks.
_BASH = 'trap \'echo "$LINENO $BASH_COMMAND" >>"$DOCS_CHECK_FAILED"\' ERR'
_PYTHON = "import sys; exec(compile(sys.stdin.read(), sys.argv.pop(), 'exec'))"


def run_page(page: Page, folder: Path, timeout: float) -> list[Problem]:
    """Run a page's blocks one after the other, up to the first that fails.

    Args:
        page: The page.
        folder: Its working folder.
        timeout: Seconds a block may take.

    Returns:
        The problem that ended it, if one did.
    """
    output = ""
    for block in page.blocks:
        problem = None
        if block.printed:
            problem = compare(page, block, output)
        elif block.title:
            write(block, folder)
        elif block.is_run:
            problem, output = run_block(page, block, folder, timeout)
        if problem:
            return [problem]
    return []


def write(block: Block, folder: Path) -> None:
    """Write a block with a title to its file."""
    path = folder / block.title
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.code, encoding="utf-8")


def compare(page: Page, block: Block, output: str) -> Problem | None:
    """Look for each line of a ``printed`` block in what was printed; blanks count as one, ``…`` stands for anything."""
    found = " ".join(output.split())
    for number, line in enumerate(block.code.splitlines(), start=block.line):
        parts = [re.escape(" ".join(part.split())) for part in line.split("…")]
        if not re.search(r"\s*.*?\s*".join(parts), found):
            near = difflib.get_close_matches(line, output.splitlines(), n=3, cutoff=0.3)
            return Problem(
                page.name, number, f"this was not printed: {line.strip()}", "\n".join(near) or last_lines(output)
            )
    return None


def run_block(page: Page, block: Block, folder: Path, timeout: float) -> tuple[Problem | None, str]:
    """Run a block.

    Returns:
        What was wrong, and what it printed.
    """
    with tempfile.NamedTemporaryFile("r") as failed:
        environment = {
            "OMP_NUM_THREADS": "1",  # other pages, and a training's own processes, use the other cores
            **os.environ,
            "PATH": f"{STAND_INS}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CUDA_VISIBLE_DEVICES": "",
            "DOCS_CHECK_FAILED": failed.name,
        }
        padding = "\n" * (block.line - 1)
        if block.language == "bash":
            command, stdin = ["bash", "-Eeuo", "pipefail", "-c", _BASH + padding + block.code, page.name], ""
        else:
            command, stdin = [sys.executable, "-c", _PYTHON, page.name], padding + block.code
        status, output = _run(command, stdin, folder, environment, timeout)
        line, _, text = failed.read().partition("\n")[0].partition(" ")
    if status == block.status:
        return None, output
    shown = text or next(iter(block.code.strip().splitlines()), "")
    ended = f"longer than {timeout:g} s" if status is None else f"exit status {status}, not {block.status}"
    return Problem(page.name, int(line or block.line), f"{ended}: {shown}", last_lines(output)), output


def _run(
    command: list[str], stdin: str, folder: Path, environment: dict[str, str], timeout: float
) -> tuple[int | None, str]:
    """Status (``None``: stopped) and output; nothing that it started is left behind."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            process.communicate(stdin, timeout)
            status: int | None = process.returncode
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return status, output.read()


def last_lines(output: str) -> str:
    """The end of what was printed."""
    return "\n".join(output.rstrip().splitlines()[-LINES_SHOWN:])
