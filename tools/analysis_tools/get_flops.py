"""Multiply-accumulates and parameters of a config's backbone, neck and heads; needs no data and no GPU.

python tools/analysis_tools/get_flops.py CONFIG [--shape H W] [--cfg-options KEY=VALUE ...]
"""

import argparse


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Count multiply-accumulates (MACs); 1 MAC = 2 FLOPs")
    parser.add_argument("config", help="path of the config")
    parser.add_argument(
        "--shape",
        nargs=2,
        type=int,
        metavar=("H", "W"),
        help="image size (default: that of the crops the config trains on, or 800 1280)",
    )
    parser.add_argument("--proposals", type=int, default=1000, help="boxes per box head (default: 1000)")
    parser.add_argument("--detections", type=int, default=100, help="boxes per mask head (default: 100)")
    parser.add_argument(
        "--cfg-options", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="override settings"
    )
    return parser.parse_args()


def main() -> None:
    args = parse_args()
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


if __name__ == "__main__":
    main()
