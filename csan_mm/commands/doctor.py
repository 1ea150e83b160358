"""``csan_mm doctor``."""

import argparse

HELP = "what is wrong with the installation, and the command that mends it"
EXAMPLE = "csan_mm doctor --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--json", action="store_true", help="print all findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Examine."""
    from csan_mm.doctor.command import run as doctor

    return doctor(args)
