"""``csan_mm selftest``."""

import argparse

HELP = (
    "does csan_mm compute right on this machine? every family and precision on the CPU, and on the GPU that torch sees"
)
EXAMPLE = "csan_mm selftest"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--cpu", action="store_true", help="leave the GPU out")


def run(args: argparse.Namespace) -> int:
    """Try."""
    from csan_mm.cli.selftest import run as selftest

    return selftest(args)
