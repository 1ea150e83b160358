"""Draw a detector's or segmentor's predictions on images, and write them as JSON.

python tools/infer.py IMAGES... --config CONFIG --checkpoint CHECKPOINT --out DIR
"""

import argparse
import sys


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Draw predictions on images, and write them as JSON beside")
    parser.add_argument("images", nargs="+", help="image files and folders")
    parser.add_argument("--config", required=True, help="path of the model's config")
    parser.add_argument("--checkpoint", required=True, help="path of its checkpoint")
    parser.add_argument("--out", required=True, help="folder for vis/ and preds/")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ...; default: CUDA where there is one")
    parser.add_argument("--batch-size", type=int, default=1, help="images at a time (default: 1)")
    parser.add_argument("--score-thr", type=float, default=0.3, help="leave out detections below (default: 0.3)")
    parser.add_argument(
        "--trust", action="store_true", help="unpickle a file that cannot be read otherwise, which runs the code in it"
    )
    args = parser.parse_args()
    if args.batch_size < 1:
        parser.error(f"--batch-size {args.batch_size}: take 1 or more")
    return args


def main() -> None:
    args = parse_args()
    from csan_mm.cli.infer import run

    sys.exit(run(args))


if __name__ == "__main__":
    main()
