"""One process decides, all hear of it: its result and whatever stopped it."""

import errno
import pickle

import pytest

from csan_mm.checkpoint import CheckpointError
from csan_mm.cli.errors import error_border
from csan_mm.common.errors import UserError
from csan_mm.common.processes import decided_by_main


def raising(error: Exception):
    def action() -> None:
        raise error

    return action


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch):
    """Runs an action as the main process, then as another one that gets what was sent; returns what each one met."""

    def run(action):
        sent, ends = [], []

        def broadcast(outcome: list) -> None:
            if sent:
                outcome[:] = pickle.loads(sent[0])
            else:
                sent.append(pickle.dumps(outcome))

        monkeypatch.setattr("csan_mm.common.processes.broadcast_object_list", broadcast)
        for main in (True, False):
            monkeypatch.setattr("csan_mm.common.processes.is_main_process", lambda main=main: main)
            try:
                ends.append(decided_by_main(action))
            except Exception as error:
                ends.append(error)
        return ends

    return run


def test_all_get_the_result(others):
    calls = []
    assert others(lambda: calls.append(1) or "epoch_3.pth") == ["epoch_3.pth", "epoch_3.pth"]
    assert calls == [1]


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (CheckpointError("all are damaged"), CheckpointError, "all are damaged"),
        (
            PermissionError(errno.EACCES, "Permission denied", "run/last_checkpoint"),
            UserError,
            "run/last_checkpoint: Perm",
        ),
        (OSError(errno.EIO, "Input/output error"), UserError, "Input/output error: check the path"),
        (FileNotFoundError("gone meanwhile"), UserError, "gone meanwhile: check the path"),
    ],
    ids=["ours", "permission", "disk", "without a number"],
)
def test_what_stops_the_main_one_stops_all_with_its_sentence(others, capsys, error, kind, says):
    ends = others(raising(error))
    assert [type(end) for end in ends] == [kind, kind]
    assert str(ends[0]) == str(ends[1])
    assert str(ends[0]).startswith(says)
    for end in ends:
        with pytest.raises(SystemExit) as stop, error_border("config.py"):
            raise end
        assert stop.value.code == 1
    assert capsys.readouterr().err == f"error: {ends[0]}\n"  # once, by the main process


def test_a_fault_keeps_its_traceback_and_stops_the_others(others):
    fault = ZeroDivisionError("of ours")
    first, second = others(raising(fault))
    assert first is fault
    assert isinstance(second, UserError)
    assert "ZeroDivisionError: of ours" in str(second)
