"""The command line that goes on with a training which was stopped."""

import shlex
import sys
from pathlib import Path

from csan_mm.engine.resume import POINTER


def how_to_go_on(work_dir: str, resume: str | None, launcher: str) -> str:
    """What to do after Ctrl-C or a full disk, as the second half of a sentence.

    Args:
        work_dir: Where the training's checkpoints are.
        resume: What this run's ``--resume`` was: None, 'auto' or a path.
        launcher: This run's ``--launcher``; a launched process does not know the command that started all of them.
    """
    if not (Path(work_dir) / POINTER).is_file():
        return f"start again; there is no checkpoint in {work_dir} yet"
    if launcher != "none":
        return "go on with the same command and --resume"
    return f"go on with `{shlex.join(_program() + _without_resume(sys.argv[1:], resume))} --resume`"


def _program() -> list[str]:
    if sys.orig_argv[1:3] == ["-m", "csan_mm"]:
        return ["python", "-m", "csan_mm"]
    script = Path(sys.argv[0])
    return [script.name] if script.name == "csan_mm" else ["python", str(script)]


def _without_resume(words: list[str], resume: str | None) -> list[str]:
    """The command line without ``--resume`` and its path, from which the training would begin anew."""
    kept: list[str] = []
    for before, word in zip(["", *words], words):
        is_path = before == "--resume" and word == resume
        if word != "--resume" and not word.startswith("--resume=") and not is_path:
            kept.append(word)
    return kept
