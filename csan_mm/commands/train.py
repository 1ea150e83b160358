"""``csan_mm train``."""

import argparse
import os

from csan_mm.commands.options import add_run_options

HELP = "train a detector, segmentor or classifier from a config"
EXAMPLE = "csan_mm train CONFIG --work-dir DIR --resume"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("config", help="path of the config, or the name of a shipped one (csan_mm configs lists them)")
    parser.add_argument("--amp", action="store_true", help="train in mixed precision")
    parser.add_argument(
        "--auto-scale-lr", action="store_true", help="scale the learning rate to the actual batch (auto_scale_lr)"
    )
    parser.add_argument(
        "--resume",
        nargs="?",
        const="auto",
        metavar="CHECKPOINT",
        help="go on from this checkpoint; without a path: from the last readable one in the work dir",
    )
    add_run_options(parser)


def run(args: argparse.Namespace) -> None:
    """Train."""
    os.environ.setdefault("LOCAL_RANK", str(args.local_rank))  # where mmengine looks for it
    from csan_mm.cli.train import run as train

    train(args)
