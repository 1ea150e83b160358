"""Train a detector, segmentor or classifier from a config.

python tools/train.py CONFIG [--work-dir DIR] [--amp] [--resume [CHECKPOINT]] [--auto-scale-lr]
bash tools/dist_train.sh CONFIG PROCESSES [options]
"""

import argparse

from options import add_run_options, parse


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a detector, segmentor or classifier")
    parser.add_argument("config", help="path of the config")
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
    return parse(parser)


def main() -> None:
    args = parse_args()
    from csan_mm.cli.train import run

    run(args)


if __name__ == "__main__":
    main()
