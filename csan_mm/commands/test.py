"""``csan_mm test``."""

import argparse
import os

from csan_mm.commands.options import add_run_options

HELP = "evaluate a checkpoint of a detector, segmentor or classifier"
EXAMPLE = "csan_mm test CONFIG CHECKPOINT --show-dir pictures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("config", help="path of the config, or the name of a shipped one")
    parser.add_argument("checkpoint", help="path of the checkpoint")
    parser.add_argument("--out", help="write the predictions: to a .pkl file; of a segmentor: as PNGs into a folder")
    parser.add_argument("--show-dir", metavar="DIR", help="draw the predictions on the images, into this folder")
    parser.add_argument("--tta", action="store_true", help="test-time augmentation (tta_model, tta_pipeline)")
    add_run_options(parser)


def run(args: argparse.Namespace) -> None:
    """Evaluate."""
    os.environ.setdefault("LOCAL_RANK", str(args.local_rank))
    from csan_mm.cli.test import run as test

    test(args)
