"""After Ctrl-C: the command that goes on, made of the one that was stopped."""

import sys

import pytest

from csan_mm.cli.errors import error_border
from csan_mm.cli.go_on import how_to_go_on
from csan_mm.commands import COMMANDS, main


@pytest.mark.parametrize(
    ("original", "argv", "resume", "command"),
    [
        (
            ["python", "-m", "csan_mm"],
            ["x/__main__.py", "train", "c.py"],
            None,
            "python -m csan_mm train c.py --resume",
        ),
        (["python", "b/csan_mm"], ["b/csan_mm", "train", "c.py"], None, "csan_mm train c.py --resume"),
        (["python", "tools/train.py"], ["tools/train.py", "my c.py"], None, "python tools/train.py 'my c.py' --resume"),
        (["python", "t.py"], ["t.py", "--resume", "c.py", "--amp"], "auto", "python t.py c.py --amp --resume"),
        (["python", "t.py"], ["t.py", "c.py", "--resume", "a.pth"], "a.pth", "python t.py c.py --resume"),
        (["python", "t.py"], ["t.py", "--resume=a.pth", "c.py"], "a.pth", "python t.py c.py --resume"),
    ],
)
def test_command(tmp_path, monkeypatch, original, argv, resume, command):
    monkeypatch.setattr(sys, "orig_argv", original)
    monkeypatch.setattr(sys, "argv", argv)
    assert how_to_go_on(str(tmp_path), resume, "none") == f"start again; there is no checkpoint in {tmp_path} yet"
    (tmp_path / "last_checkpoint").write_text("iter_1.pth")
    assert how_to_go_on(str(tmp_path), resume, "none") == f"go on with `{command}`"
    assert how_to_go_on(str(tmp_path), resume, "pytorch") == "go on with the same command and --resume"


@pytest.mark.parametrize(
    ("advice", "line"),
    [(None, "interrupted\n"), ("go on with x", "interrupted: go on with x\n"), ("silent", "")],
    ids=["without", "with", "another process"],
)
def test_border_says_one_line_and_130(capsys, advice, line):
    how = advice and (lambda: None if advice == "silent" else advice)
    with pytest.raises(SystemExit) as stop, error_border("c.py", how_to_go_on=how):
        raise KeyboardInterrupt
    assert stop.value.code == 130
    assert capsys.readouterr().err == line


@pytest.mark.parametrize("command", ["models", "run"])
def test_every_command_ends_so_but_somebody_elses_script(command, capsys, monkeypatch):
    def stopped(args: object) -> None:
        raise KeyboardInterrupt

    assert command in COMMANDS
    monkeypatch.setattr(f"csan_mm.commands.{command}.run", stopped)
    if command == "run":
        with pytest.raises(KeyboardInterrupt):
            main([command, "script.py"])
        return
    assert main([command]) == 130
    assert capsys.readouterr().err == "interrupted\n"
