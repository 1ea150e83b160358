"""Checkpoints are written whole or not at all, and an old one goes only when the new one is there."""

import errno
from pathlib import Path

import pytest
from mmengine.fileio import get_file_backend
from mmengine.fileio.backends import LocalBackend
from mmengine.fileio.backends.registry_utils import backends, prefix_to_backends
from mmengine.hooks import CheckpointHook, checkpoint_hook

from csan_mm.engine.saving import SafeSavingHook, WholeFiles, save_whole_files


@pytest.fixture
def whole_files(monkeypatch):
    """The registration, for one test."""
    monkeypatch.setitem(backends, "local", LocalBackend)
    monkeypatch.setitem(prefix_to_backends, "", LocalBackend)
    monkeypatch.setattr(checkpoint_hook, "open", open, raising=False)
    save_whole_files()


def test_mmengine_writes_whole_files(whole_files, tmp_path):
    backend = get_file_backend(str(tmp_path / "a" / "b.pth"))
    assert isinstance(backend, WholeFiles)
    backend.put(b"12", tmp_path / "a" / "b.pth")
    backend.put_text("é", tmp_path / "a" / "c.txt")
    assert (tmp_path / "a" / "b.pth").read_bytes() == b"12"
    assert (tmp_path / "a" / "c.txt").read_text("utf-8") == "é"
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["b.pth", "c.txt"]


def test_what_fails_leaves_the_old_file_and_nothing_else(whole_files, tmp_path, monkeypatch):
    path = tmp_path / "iter_1.pth"
    path.write_bytes(b"old")

    def full(self: Path, data: bytes) -> None:
        with open(self, "wb") as file:
            file.write(data[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*iter_1\.pth'"):
        get_file_backend(str(path)).put(b"new", path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_pointer_is_replaced_and_not_written_over(whole_files, tmp_path):
    pointer = tmp_path / "last_checkpoint"
    pointer.write_text("iter_1.pth")

    def write(text: str, fail: bool) -> None:
        with checkpoint_hook.open(str(pointer), "w") as file:
            file.write(text)
            if fail:
                raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write("iter_2.pth", fail=True)
    assert pointer.read_text() == "iter_1.pth"
    write("iter_2.pth", fail=False)
    assert pointer.read_text() == "iter_2.pth"
    assert list(tmp_path.iterdir()) == [pointer]


class Runner:
    """What the hook asks of a Runner."""

    def __init__(self, *hooks: CheckpointHook) -> None:
        self.hooks = hooks


@pytest.mark.parametrize("after", ["after_train_iter", "after_train_epoch", "after_val_epoch"])
def test_an_old_checkpoint_is_removed_behind_the_save(tmp_path, after):
    saving, hook = SafeSavingHook(), CheckpointHook()
    hook.file_backend = LocalBackend()
    saving.before_train(runner := Runner(hook))
    old, same = tmp_path / "iter_1.pth", tmp_path / "best.pth"
    for path in (old, same):
        path.write_bytes(b"old")
        hook.file_backend.remove(str(path))
    assert old.is_file()
    assert same.is_file()
    WholeFiles().put(b"new", same)  # the best checkpoint may keep its name
    getattr(saving, after)(runner, 0) if after == "after_train_iter" else getattr(saving, after)(runner)
    assert not old.exists()
    assert same.read_bytes() == b"new"


def test_other_storage_is_left_alone():
    hook = CheckpointHook()
    hook.file_backend = server = object()
    SafeSavingHook().before_train(Runner(hook))
    assert hook.file_backend is server
