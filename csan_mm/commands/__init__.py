"""The command line: ``csan_mm COMMAND``, ``python -m csan_mm COMMAND`` and the scripts of tools/ are one and the same.

A command is a module of this package with HELP (one line), EXAMPLE, ``add_arguments(parser)`` and ``run(args) -> int | None``.
These modules import the standard library only, and torch and the OpenMMLab packages within ``run``, so that every ``--help``
answers at once (``mim`` asks for one before each training).
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from csan_mm.common.install import tools_folder
from csan_mm.common.notices import without_notices

#: Command -> its script below tools/, if it has one.
COMMANDS: dict[str, str | None] = {
    "train": "train.py",
    "test": "test.py",
    "infer": "infer.py",
    "new-config": None,
    "preflight": None,
    "doctor": None,
    "selftest": None,
    "run": None,
    "convert": "model_converters/convert.py",
    "export-backbone": "export_backbone.py",
    "export-model": "export_model.py",
    "publish": "misc/publish_model.py",
    "flops": "analysis_tools/get_flops.py",
    "digits": "dataset_tools/make_digits.py",
    "models": None,
    "configs": None,
    "diagnose": None,
    "completion": None,
}

DESCRIPTION = "Backbones on four token mixers for detection and segmentation: train, test, examine, export."
EPILOG = "csan_mm COMMAND --help lists a command's options. Exit status: 0 done, 1 failed or warnings, 2 wrong usage or faults."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The command line behind ``csan_mm``. Default: ``sys.argv``'s.

    Returns:
        The exit status.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments:
        build_parser().print_help(sys.stderr)
        return 2
    if arguments[0] in COMMANDS:  # one module is read, not all
        return _run(load(arguments[0]), f"csan_mm {arguments[0]}", arguments[1:])
    build_parser().parse_args(arguments)  # --help, --version, or a refusal
    return 2


def run_script(command: str) -> None:
    """What a script of tools/ consists of: the command, and its exit status where it is not 0."""
    status = _run(load(command), None, sys.argv[1:])
    if status:
        sys.exit(status)


def load(command: str) -> ModuleType:
    """The module of a command."""
    return import_module(f"csan_mm.commands.{command.replace('-', '_')}")


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands together, for the overview and for shell completion."""
    from csan_mm.version import __version__

    parser = _OneParser(prog="csan_mm", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"csan_mm {__version__}")
    subparsers = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=argparse.ArgumentParser
    )
    for command in COMMANDS:
        module = load(command)
        module.add_arguments(subparsers.add_parser(command, help=module.HELP, description=module.HELP))
    return parser


def answers_at_once() -> bool:
    """Whether this process is a call of ours that needs nothing but the standard library: a help, doctor, a misspelt command."""
    program, rest = Path(sys.argv[0] if sys.argv else ""), sys.argv[1:]
    if {"-h", "--help"} & set(rest[:1]) and _is_script(program):
        return True
    if program.name != "csan_mm" and list(sys.orig_argv[1:3]) != ["-m", "csan_mm"]:
        return False
    if not rest or rest[0] not in COMMANDS or rest[0] in ("doctor", "completion"):
        return True
    ours = rest[:2] if rest[0] == "run" else rest  # behind `run SCRIPT` stands the script's own --help, which needs us
    return bool({"-h", "--help"} & set(ours))


def _is_script(program: Path) -> bool:
    scripts = [script for script in COMMANDS.values() if script]
    return program.name in {Path(script).name for script in scripts} and any(
        program.resolve() == (tools_folder() / script).resolve() for script in scripts
    )


def _run(module: ModuleType, prog: str | None, arguments: list[str]) -> int:
    epilog = f"example: {module.EXAMPLE}"
    parser = argparse.ArgumentParser(prog=prog, description=module.HELP, epilog=epilog)
    module.add_arguments(parser)
    args = parser.parse_args(arguments)
    if module is load("run"):  # somebody else's script, which prints and ends as under Python
        return module.run(args)
    try:
        with nullcontext() if getattr(args, "verbose", False) else without_notices():
            return module.run(args) or 0
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 128 + signal.SIGINT


class _OneParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Name the commands that are near what was typed."""
        from difflib import get_close_matches

        typed = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
        near = get_close_matches(typed, COMMANDS, n=3, cutoff=0.5)
        if typed and typed not in COMMANDS:
            hint = f"did you mean {' or '.join(near)}?" if near else f"the commands are {', '.join(COMMANDS)}"
            message = f"there is no command {typed!r}: {hint}"
        self.exit(2, f"error: {message}\n")
