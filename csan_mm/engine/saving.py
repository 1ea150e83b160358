"""Saving checkpoints so that a full disk, or a process that is stopped, leaves the last one as it was.

mmengine writes a checkpoint and the file ``last_checkpoint`` in place, and removes an old checkpoint before it has the new one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mmengine.fileio import register_backend
from mmengine.fileio.backends import LocalBackend
from mmengine.hooks import CheckpointHook, Hook, checkpoint_hook
from mmengine.runner import Runner

from csan_mm.checkpoint.files import replacing


class WholeFiles(LocalBackend):
    """mmengine's files on disk, each written under a temporary name that becomes its own when all of it is there."""

    def put(self, obj: bytes, filepath: str | Path) -> None:
        """Write bytes; a folder that does not exist is made."""
        path = Path(filepath)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_bytes(obj)

    def put_text(self, obj: str, filepath: str | Path, encoding: str = "utf-8") -> None:
        """Write text; a folder that does not exist is made."""
        self.put(obj.encode(encoding), filepath)


class SafeSavingHook(Hook):
    """Lets mmengine's CheckpointHook remove an old checkpoint only when the new one is on the disk.

    Register it with priority LOWEST, so that it acts after every CheckpointHook.
    """

    def __init__(self) -> None:
        self._backend = _LateRemoval()

    def before_train(self, runner: Runner) -> None:
        """Take the place of each CheckpointHook's local files; other storage (``out_dir`` on a server) stays."""
        for hook in runner.hooks:
            if isinstance(hook, CheckpointHook) and isinstance(hook.file_backend, LocalBackend):
                hook.file_backend = self._backend

    def after_train_iter(self, *args: Any, **kwargs: Any) -> None:
        """A checkpoint may have been saved."""
        self._backend.remove_now()

    def after_train_epoch(self, runner: Runner) -> None:
        """A checkpoint may have been saved."""
        self._backend.remove_now()

    def after_val_epoch(self, runner: Runner, metrics: dict[str, float] | None = None) -> None:
        """The best checkpoint may have been saved."""
        self._backend.remove_now()


class _LateRemoval(WholeFiles):
    """Remembers what is to be removed. A file of the same name that was written since is another one, and stays."""

    def __init__(self) -> None:
        self._removed: list[tuple[Path, int]] = []

    def remove(self, filepath: str | Path) -> None:
        self._removed.append((Path(filepath), os.stat(filepath).st_ino))

    def remove_now(self) -> None:
        for path, inode in self._removed:
            if path.is_file() and path.stat().st_ino == inode:
                path.unlink()
        self._removed.clear()


def save_whole_files() -> None:
    """Let mmengine write its checkpoints as :class:`WholeFiles` does, for the rest of this process."""
    register_backend("local", WholeFiles, force=True, prefixes="")
    # CheckpointHook writes ``last_checkpoint`` with the open() of its module, and nothing else.
    checkpoint_hook.open = _open_whole


@contextmanager
def _open_whole(file: str | Path, mode: str) -> Iterator[IO[str]]:
    with replacing(Path(file)) as temporary, open(temporary, mode) as opened:
        yield opened
