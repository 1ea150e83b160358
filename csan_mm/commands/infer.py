"""``csan_mm infer``."""

import argparse

from csan_mm.commands.options import add_cfg_options, add_trust, at_least_one

HELP = (
    "draw a detector's or segmentor's predictions on images and videos, and write them as JSON; exit status: 0, 1 where a file "
    "was left out or the run failed, 2 wrong usage"
)
EXAMPLE = "csan_mm infer IMAGES --config CONFIG --checkpoint CHECKPOINT --out results"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("images", nargs="+", help="image files, video files and folders of them")
    parser.add_argument("--config", required=True, help="path of the model's config")
    parser.add_argument("--checkpoint", required=True, help="path of its checkpoint")
    parser.add_argument("--out", required=True, help="folder for vis/ and preds/")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ...; default: CUDA where there is one")
    parser.add_argument("--batch-size", type=at_least_one, default=1, help="images at a time (default: 1)")
    parser.add_argument("--score-thr", type=float, default=0.3, help="leave out detections below (default: 0.3)")
    add_cfg_options(parser)
    add_trust(parser)


def run(args: argparse.Namespace) -> int:
    """Predict."""
    from csan_mm.cli.infer import run as infer

    return infer(args)
