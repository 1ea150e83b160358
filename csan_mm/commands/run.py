"""``csan_mm run``."""

import argparse

HELP = "run a script of mmdet, mmseg or your own with csan_mm imported first"
EXAMPLE = "csan_mm run mmdet::analysis_tools/browse_dataset.py CONFIG --not-show --output-dir pictures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "script", help="path of the script; PACKAGE::PATH: below the tools an installed package brings along"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its own command line")


def run(args: argparse.Namespace) -> int:
    """Run the script as if Python had been called with it."""
    from csan_mm.cli.run_script import main

    return main([args.script, *args.arguments])
