"""``csan_mm flops``."""

import argparse

from csan_mm.commands.options import add_cfg_options

HELP = "multiply-accumulates (1 MAC = 2 FLOPs) and parameters of a config's backbone, neck and heads; needs no data, no GPU"
EXAMPLE = "csan_mm flops CONFIG --shape 800 1344"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("config", help="path of the config, or the name of a shipped one")
    parser.add_argument(
        "--shape",
        nargs=2,
        type=int,
        metavar=("H", "W"),
        help="image size (default: that of the crops the config trains on, or 800 1280)",
    )
    parser.add_argument("--proposals", type=int, default=1000, help="boxes per box head (default: 1000)")
    parser.add_argument("--detections", type=int, default=100, help="boxes per mask head (default: 100)")
    add_cfg_options(parser)


def run(args: argparse.Namespace) -> None:
    """Count."""
    from csan_mm.analysis.flops import count_model, format_parts
    from csan_mm.analysis.models import build_model, training_shape
    from csan_mm.cli.errors import error_border
    from csan_mm.common.config import load_config

    args.work_dir, args.launcher = None, "none"
    with error_border(args.config):
        cfg = load_config(args)
        shape = tuple(args.shape) if args.shape else training_shape(cfg)
        parts = count_model(build_model(cfg), shape, args.proposals, args.detections)
    print(f"{args.config}: one image of {shape[0]} x {shape[1]} (H x W)")
    print(format_parts(parts))
