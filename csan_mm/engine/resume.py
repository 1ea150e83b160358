"""Resuming: the last checkpoint that can be read, the same for all processes, read without executing a pickle."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

from mmengine.config import Config
from mmengine.logging import print_log
from mmengine.runner import CheckpointLoader

from csan_mm.checkpoint import CheckpointError, safe_load
from csan_mm.checkpoint.fetch import safe_loaders
from csan_mm.common.processes import decided_by_main

#: The file in a work dir in which mmengine writes the path of its last checkpoint, as it was then.
POINTER = "last_checkpoint"

_NUMBERED = re.compile(r"(epoch|iter)_(\d+)\.pth$")

#: Without these a file has weights, but no training to go on with.
_TRAINING = ("state_dict", "meta", "message_hub", "optimizer")


def read_checkpoints_safely(trust: bool = False) -> None:
    """Let mmengine read checkpoints as ``csan_mm.checkpoint.safe_load`` does, for the rest of this process.

    mmengine itself unpickles whatever a weights-only reader refuses. This holds for paths and for every scheme it knows; what
    has to be fetched is fetched first.

    Args:
        trust: Unpickle them all the same. Default: False.
    """
    for prefix, loader in safe_loaders(trust).items():
        CheckpointLoader.register_scheme(prefixes=prefix, loader=loader, force=True)


def choose_checkpoint(cfg: Config, resume: str | None, trust: bool = False) -> bool:
    """Set ``cfg.resume`` and ``cfg.load_from``, the same in all processes.

    Args:
        cfg: The config; its ``work_dir`` is where the checkpoints are looked for.
        resume: A checkpoint's path, 'auto' for the last readable one, or None to do as the config says.
        trust: Unpickle files that cannot be read otherwise. Default: False.

    Returns:
        Whether a training was to be resumed and there is no checkpoint.

    Raises:
        CheckpointError: The named checkpoint does not exist or is damaged, or each one in the work dir is.
    """
    if resume is None and cfg.get("resume"):
        resume = cfg.get("load_from") or "auto"
    if resume is None:
        cfg.resume = False
        return False
    found = _agreed(resume, Path(cfg.work_dir), trust)
    if found is None:
        print_log(describe_no_checkpoint(cfg.work_dir), logger="current", level=logging.WARNING)
    cfg.resume = found is not None
    cfg.load_from = found or cfg.get("load_from")
    return found is None


def describe_no_checkpoint(work_dir: str) -> str:
    """What resuming does in a work dir without a checkpoint."""
    return f"no checkpoint to resume from in {work_dir}: training starts from the beginning"


def find_resumable(work_dir: Path, trust: bool = False) -> Path | None:
    """The newest checkpoint of a work dir that can be read; each newer one that cannot is named in a warning.

    Args:
        work_dir: The folder, which may have been moved or copied since.
        trust: Unpickle files that cannot be read otherwise. Default: False.

    Returns:
        The checkpoint, or None where there is none at all.

    Raises:
        CheckpointError: There are some, and all are damaged.
    """
    broken = []
    for path in _candidates(work_dir):
        try:
            require_training(path, trust)
        except CheckpointError as error:
            broken.append(str(error))
            continue
        for reason in broken:
            print_log(f"{reason}; resuming from {path} instead", logger="current", level=logging.WARNING)
        return path
    if broken:
        raise CheckpointError(
            f"no checkpoint in {work_dir} can be resumed from: {'; '.join(broken)}. Train from the beginning without --resume"
        )
    return None


def require_training(path: Path, trust: bool = False) -> None:
    """Read a checkpoint to its end.

    Raises:
        CheckpointError: It does not exist, is damaged, or has no state of a training.
    """
    if not path.is_file():
        raise CheckpointError(f"checkpoint {path} does not exist: check the path")
    content = safe_load(path, trust)
    lacking = [key for key in _TRAINING if not isinstance(content, dict) or key not in content]
    if lacking:
        raise CheckpointError(
            f"{path} has no {', '.join(lacking)}, so no training to resume: start from its weights with "
            f"--cfg-options load_from={path}"
        )


def _agreed(resume: str, work_dir: Path, trust: bool) -> str | None:
    """The main process decides and tells the others."""

    def decide() -> Path | None:
        if resume == "auto":
            return find_resumable(work_dir, trust)
        if "://" in resume:
            raise CheckpointError(f"--resume {resume}: a training goes on from a file: fetch it and give its path")
        require_training(Path(resume), trust)
        return Path(resume)

    found = decided_by_main(decide)
    if found is not None and not found.is_file():
        raise CheckpointError(f"{found} is not there on every node: put the work dir on a disk that all of them share")
    return None if found is None else str(found)


def _candidates(work_dir: Path) -> Iterator[Path]:
    """Checkpoints from the last one backwards: where the pointer says, or beside it if the folder was moved since."""
    last = _pointed_at(work_dir)
    folder = work_dir if last is None else last.parent
    if last is not None and last.is_file():
        yield last
    match = _NUMBERED.match(last.name) if last is not None else None
    older = sorted(_numbered(folder), key=lambda entry: entry[1], reverse=True)
    for kind, number, path in older:
        if path != last and (match is None or (kind == match[1] and number < int(match[2]))):
            yield path


def _pointed_at(work_dir: Path) -> Path | None:
    pointer = work_dir / POINTER
    if not pointer.is_file():
        return None
    text = pointer.read_text(encoding="utf-8").strip()
    if not text:  # the disk was full, or the process ended, while mmengine alone wrote it
        return None
    last = Path(text)
    moved = work_dir / last.name
    return moved if moved.is_file() or not last.parent.is_dir() else last


def _numbered(folder: Path) -> Iterator[tuple[str, int, Path]]:
    for path in folder.glob("*.pth"):
        if match := _NUMBERED.match(path.name):
            yield match[1], int(match[2]), path
