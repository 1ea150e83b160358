"""Evaluate a checkpoint of a detector, segmentor or classifier.

python tools/test.py CONFIG CHECKPOINT [--out predictions.pkl] [--show-dir DIR] [--tta]
bash tools/dist_test.sh CONFIG CHECKPOINT PROCESSES [options]
"""

import argparse

from options import add_run_options, parse


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Evaluate a detector, segmentor or classifier")
    parser.add_argument("config", help="path of the config")
    parser.add_argument("checkpoint", help="path of the checkpoint")
    parser.add_argument("--out", help="write the predictions: to a .pkl file; of a segmentor: as PNGs into a folder")
    parser.add_argument("--show-dir", metavar="DIR", help="draw the predictions on the images, into this folder")
    parser.add_argument("--tta", action="store_true", help="test-time augmentation (tta_model, tta_pipeline)")
    add_run_options(parser)
    return parse(parser)


def main() -> None:
    args = parse_args()
    from csan_mm.cli.test import run

    run(args)


if __name__ == "__main__":
    main()
