"""Resuming: which checkpoint is taken, and that files are read without executing anything."""

import errno
import logging
import os
import pickle
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.logging import HistoryBuffer
from mmengine.runner import CheckpointLoader
from mmengine.runner.checkpoint import _load_checkpoint

from csan_mm.checkpoint import CheckpointError
from csan_mm.common.errors import UserError
from csan_mm.engine.resume import choose_checkpoint, find_resumable, read_checkpoints_safely


class Evil:
    """Unpickling it would make a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.folder),)


def write(path: Path, **more: object) -> Path:
    buffer = HistoryBuffer()
    buffer.update(0.5)
    content = {
        "state_dict": {"w": torch.ones(9)},
        "meta": {"epoch": 1},
        "optimizer": {},
        "message_hub": {"loss": buffer},
    }
    torch.save(content | more, path)
    return path


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    """Three epochs, the last one being the last checkpoint."""
    folder = tmp_path / "run"
    folder.mkdir()
    for epoch in (1, 2, 10):
        write(folder / f"epoch_{epoch}.pth")
    (folder / "last_checkpoint").write_text(str(folder / "epoch_10.pth"))
    return folder


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def test_takes_the_last(work_dir):
    assert find_resumable(work_dir).name == "epoch_10.pth"


def test_falls_back_from_truncated_ones_and_says_so(work_dir, monkeypatch):
    said = []
    monkeypatch.setattr("csan_mm.engine.resume.print_log", lambda text, logger, level: said.append((level, text)))
    truncate(work_dir / "epoch_10.pth")
    (work_dir / "epoch_2.pth").write_bytes(b"")
    assert find_resumable(work_dir).name == "epoch_1.pth"
    assert [level for level, _ in said] == [logging.WARNING] * 2
    for (_, text), broken in zip(said, ("epoch_10.pth", "epoch_2.pth")):
        assert text.startswith(f"{work_dir / broken} is not a readable checkpoint")
        assert text.endswith(f"resuming from {work_dir / 'epoch_1.pth'} instead")


def test_falls_back_backwards_only(work_dir):
    """epoch_11 is of an earlier, longer run: the last checkpoint of this one is epoch_2."""
    (work_dir / "last_checkpoint").write_text(str(work_dir / "epoch_2.pth"))
    truncate(work_dir / "epoch_2.pth")
    write(work_dir / "iter_1.pth")
    assert find_resumable(work_dir).name == "epoch_1.pth"


def test_last_one_was_removed(work_dir):
    (work_dir / "epoch_10.pth").unlink()
    assert find_resumable(work_dir).name == "epoch_2.pth"


def test_only_broken_ones_are_an_error(work_dir):
    for path in work_dir.glob("*.pth"):
        truncate(path)
    with pytest.raises(CheckpointError, match=r"no checkpoint in .* can be resumed from: .*epoch_10.*epoch_2.*epoch_1"):
        find_resumable(work_dir)


def test_moved_work_dir(work_dir, tmp_path):
    """last_checkpoint holds the old, absolute path; a copy takes its own file even while the old one is there."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in work_dir.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    assert find_resumable(copy) == copy / "epoch_10.pth"
    moved = work_dir.rename(tmp_path / "moved")
    assert find_resumable(moved) == moved / "epoch_10.pth"
    truncate(moved / "epoch_10.pth")
    assert find_resumable(moved) == moved / "epoch_2.pth"


def test_checkpoints_in_another_folder(work_dir, tmp_path):
    """CheckpointHook(out_dir=...): the pointer stays in the work dir."""
    elsewhere = tmp_path / "elsewhere"
    work_dir.rename(elsewhere)
    work_dir.mkdir()
    (work_dir / "last_checkpoint").write_text(str(elsewhere / "epoch_10.pth"))
    assert find_resumable(work_dir) == elsewhere / "epoch_10.pth"


def test_weights_alone_are_no_training(work_dir):
    torch.save({"state_dict": {}}, work_dir / "best.pth")
    cfg = Config({"work_dir": str(work_dir)})
    with pytest.raises(CheckpointError, match=r"best.pth has no meta, message_hub, optimizer, .*load_from="):
        choose_checkpoint(cfg, str(work_dir / "best.pth"))


@pytest.mark.parametrize(
    ("option", "settings", "resume", "load_from"),
    [
        (None, {}, False, None),
        (None, {"load_from": "weights.pth"}, False, "weights.pth"),
        ("auto", {"load_from": "weights.pth"}, True, "epoch_10.pth"),
        (None, {"resume": True}, True, "epoch_10.pth"),
        ("epoch_1.pth", {}, True, "epoch_1.pth"),
        (None, {"resume": True, "load_from": "epoch_2.pth"}, True, "epoch_2.pth"),
    ],
)
def test_choice_by_option_and_config(work_dir, monkeypatch, option, settings, resume, load_from):
    monkeypatch.chdir(work_dir)
    cfg = Config({"work_dir": ".", **settings})
    choose_checkpoint(cfg, option)
    assert (cfg.resume, cfg.get("load_from")) == (resume, load_from)


def test_nothing_to_resume_from_starts_with_the_config_s_weights(tmp_path):
    cfg = Config({"work_dir": str(tmp_path), "load_from": "weights.pth"})
    choose_checkpoint(cfg, "auto")
    assert (cfg.resume, cfg.load_from) == (False, "weights.pth")


@pytest.mark.parametrize("decided", ["epoch_2.pth", None, CheckpointError("all are damaged")])
def test_other_processes_do_as_the_main_one_decided(work_dir, monkeypatch, decided):
    """This one would have taken epoch_10."""

    def receive(outcome: list) -> None:
        assert outcome == [None, None]
        failed = isinstance(decided, Exception)
        outcome[:] = [None, decided] if failed else [decided and work_dir / decided, None]

    monkeypatch.setattr("csan_mm.common.processes.is_main_process", lambda: False)
    monkeypatch.setattr("csan_mm.common.processes.broadcast_object_list", receive)
    cfg = Config({"work_dir": str(work_dir)})
    if isinstance(decided, Exception):
        with pytest.raises(CheckpointError, match="all are damaged"):
            choose_checkpoint(cfg, "auto")
        return
    choose_checkpoint(cfg, "auto")
    assert cfg.load_from == (decided and str(work_dir / decided))
    (work_dir / "epoch_2.pth").unlink()
    if decided:
        with pytest.raises(CheckpointError, match="is not there on every node"):
            choose_checkpoint(cfg, "auto")


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """mmengine reads as our tools let it."""
    monkeypatch.setattr(CheckpointLoader, "_schemes", dict(CheckpointLoader._schemes))
    read_checkpoints_safely()


@pytest.mark.usefixtures("reader")
def test_own_checkpoints_are_read(work_dir):
    content = _load_checkpoint(str(work_dir / "epoch_2.pth"))
    assert content["message_hub"]["loss"].current() == 0.5
    assert torch.equal(content["state_dict"]["w"], torch.ones(9))
    truncate(work_dir / "epoch_2.pth")
    with pytest.raises(CheckpointError, match="not a readable checkpoint"):
        _load_checkpoint(str(work_dir / "epoch_2.pth"))


@pytest.mark.usefixtures("reader")
def test_a_file_that_would_run_code_is_refused(work_dir, tmp_path):
    proof = tmp_path / "executed"
    path = str(write(work_dir / "epoch_10.pth", meta=Evil(proof)))
    with pytest.raises(CheckpointError, match=r"posix\.mkdir"):
        choose_checkpoint(Config({"work_dir": "."}), path)
    with pytest.raises(CheckpointError, match=r"posix\.mkdir"):
        _load_checkpoint(path)
    assert not proof.exists()
    pickle.loads(pickle.dumps(Evil(proof)))
    assert proof.is_dir()  # an unpickler does run it


class Reaching:
    """Asks for more than a method of HistoryBuffer through the getattr that is let through."""

    def __reduce__(self) -> tuple:
        return getattr, (HistoryBuffer, "__init__")


@pytest.mark.usefixtures("reader")
def test_getattr_reaches_no_further_than_a_history_buffer_s_methods(work_dir):
    with pytest.raises(CheckpointError, match="getattr"):
        _load_checkpoint(str(write(work_dir / "epoch_10.pth", meta=Reaching())))


@pytest.mark.parametrize("failing", ["pointer", "checkpoint"])
def test_a_disk_that_fails_under_the_main_process_ends_all_with_one_sentence(work_dir, monkeypatch, failing):
    """Before, the others waited for what the main process would say until the group's timeout."""
    sent = []
    monkeypatch.setattr("csan_mm.common.processes.broadcast_object_list", sent.extend)
    error = OSError(errno.EIO, "Input/output error", str(work_dir / "epoch_10.pth"))

    def fail(*args: object, **kwargs: object) -> None:
        raise error

    if failing == "pointer":
        monkeypatch.setattr(Path, "read_text", fail)
    else:
        monkeypatch.setattr("csan_mm.engine.resume.safe_load", fail)
    with pytest.raises(UserError, match=r"epoch_10\.pth: Input/output error: check"):
        choose_checkpoint(Config({"work_dir": str(work_dir)}), "auto")
    assert isinstance(sent[1], UserError)
