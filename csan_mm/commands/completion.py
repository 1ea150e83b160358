"""``csan_mm completion``."""

import argparse
import sys

HELP = "print the completion script of a shell; needs the package shtab"
EXAMPLE = "csan_mm completion bash > ~/.local/share/bash-completion/completions/csan_mm"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("shell", choices=["bash", "zsh", "tcsh"], help="whose script to print")


def run(args: argparse.Namespace) -> int:
    """Print."""
    from csan_mm.commands import build_parser

    try:
        import shtab
    except ImportError:
        sys.stderr.write("error: completion scripts are made by shtab, which is not installed: pip install shtab\n")
        return 1
    print(shtab.complete(build_parser(), shell=args.shell))
    return 0
