"""``csan_mm preflight``."""

import argparse

from csan_mm.commands.options import add_cfg_options

HELP = "what is wrong with a config and its data, before any training"
EXAMPLE = "csan_mm preflight CONFIG"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("config", help="path of the config, or the name of a shipped one")
    parser.add_argument("--json", action="store_true", help="print all findings as JSON")
    parser.add_argument(
        "--quick", action="store_true", help="look at all annotations, but read only a sample of images and label maps"
    )
    parser.add_argument(
        "--no-trial",
        action="store_true",
        help="leave out the last step: one training step and one evaluation on two images, on the CPU",
    )
    add_cfg_options(parser)


def run(args: argparse.Namespace) -> int:
    """Check."""
    from csan_mm.cli.preflight import run as preflight

    return preflight(args)
