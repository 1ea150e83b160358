"""``csan_mm COMMAND``: one command line for wheel and source tree; helps answer without torch, mistakes name what is near."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from csan_mm.commands import COMMANDS, build_parser, load, main

WITHOUT_TORCH = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "mmengine", "timm", "torchvision"):
            raise ImportError(f"{name} is not to be imported here")
sys.meta_path.insert(0, Refuse())
sys.orig_argv = ["python", "-m", "csan_mm", *sys.argv[1:]]
from csan_mm.commands import main
sys.exit(main())
"""


def run(*arguments: str, code: str = WITHOUT_TORCH) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_what_it_does_with_an_example(command, capsys):
    module = load(command)
    assert module.EXAMPLE.startswith(f"csan_mm {command}")
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert stop.value.code == 0
    assert module.HELP in text
    assert "example: csan_mm" in text


def test_examples_parse():
    """What a help shows as an example must be a command line that the parser takes."""
    for command in COMMANDS:
        words = load(command).EXAMPLE.split(" > ")[0].split()[1:]
        assert build_parser().parse_args(words).command == command


def test_helps_need_nothing_but_the_standard_library():
    for words in (["--help"], ["train", "--help"], ["test", "-h"], ["--version"]):
        done = run(*words)
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_scripts_of_tools_answer_helps_without_torch(repo_root):
    """mim runs train.py -h first; the console script's name counts too."""
    for script in filter(None, COMMANDS.values()):
        start = f"import sys; sys.argv[0] = {str(repo_root / 'tools' / script)!r}\n"
        code = start + WITHOUT_TORCH.replace('sys.orig_argv = ["python", "-m", "csan_mm", *sys.argv[1:]]', "")
        code = code.replace(
            "from csan_mm.commands import main\nsys.exit(main())",
            "import runpy; runpy.run_path(sys.argv[0], run_name='__main__')",
        )
        done = run("-h", code=code)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"usage: {Path(script).name}")


@pytest.mark.parametrize(("typed", "hint"), [("trian", "did you mean train"), ("zzz", "the commands are train, test")])
def test_unknown_command_names_the_near_ones(typed, hint):
    done = run(typed)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: there is no command {typed!r}: {hint}")
    assert done.stderr.count("\n") == 1


def test_no_command_prints_the_overview():
    done = run()
    assert done.returncode == 2
    assert all(command in done.stderr for command in COMMANDS)


def test_wrong_options_are_wrong_usage(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["infer", "a.jpg", "--config", "c", "--checkpoint", "p", "--out", "o", "--batch-size", "0"])
    assert stop.value.code == 2
    assert "take a whole number from 1" in capsys.readouterr().err


def test_models_lists_names(capsys):
    assert main(["models", "swin-csan-t"]) == 0
    assert capsys.readouterr().out.split() == ["swin-csan-tiny-slim", "swin-csan-tiny"]
    assert main(["models", "no-such"]) == 1


def test_convert_s_help_lists_all_sources():
    """Written there a second time, since a help must not need torch."""
    from csan_mm.checkpoint import SOURCES
    from csan_mm.commands.convert import SOURCE_NAMES

    assert SOURCE_NAMES.split(", ") == list(SOURCES)


def test_completion_knows_commands_and_options(capsys):
    pytest.importorskip("shtab")
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert "export-backbone" in script
    assert "--auto-scale-lr" in script


def test_console_script_is_installed():
    done = subprocess.run(
        [Path(sys.executable).with_name("csan_mm"), "--version"], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.stdout.startswith("csan_mm ")
