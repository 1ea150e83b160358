"""Coding rates of tokens and representatives by layer, over test images: a table and a picture.

python tools/analysis_tools/coding_rate.py --model NAME CONFIG CHECKPOINT [--model ...] [--images 32] [--out coding_rate.png]
"""

import argparse
from pathlib import Path


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Coding rates by layer of models with CBSA, MSSA or TSSA")
    parser.add_argument(
        "--model",
        nargs=3,
        action="append",
        required=True,
        metavar=("NAME", "CONFIG", "CHECKPOINT"),
        help="a trained model and what to call it; give several to compare them",
    )
    parser.add_argument("--images", type=int, default=32, help="number of test images (default: 32)")
    parser.add_argument("--epsilon", type=float, default=0.5, help="error the code is allowed (default: 0.5)")
    parser.add_argument("--work-dir", default="work_dirs/coding_rate", help="where logs go (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("coding_rate.png"), help="picture (default: %(default)s)")
    parser.add_argument(
        "--cfg-options", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="override settings of all"
    )
    parser.add_argument(
        "--trust", action="store_true", help="unpickle a file that cannot be read otherwise, which runs the code in it"
    )
    args = parser.parse_args()
    if args.out.suffix not in (".png", ".svg", ".pdf"):
        parser.error(f"--out {args.out}: a picture ends in .png, .svg or .pdf")
    if args.images < 1 or args.epsilon <= 0:
        parser.error("--images from 1 up, and --epsilon above 0")
    return args


def main() -> None:
    args = parse_args()
    import torch

    from csan_mm.analysis.coding_rate import CodingRates, draw, format_rates
    from csan_mm.cli.errors import error_border
    from csan_mm.cli.runs import preprocessed_batches, trained_runner

    named = {}
    for name, config, checkpoint in args.model:
        with error_border(config), torch.no_grad():
            runner = trained_runner(config, checkpoint, args.cfg_options, args.work_dir, args.trust)
            rates = CodingRates(runner.model, args.epsilon)
            with rates.collecting():
                for inputs in preprocessed_batches(runner, args.images):
                    runner.model(inputs)  # mode 'tensor': through all mixers, those of a head too
        named[name] = rates.means()
        print(f"{name}\n{format_rates(named[name])}")
    draw(named, args.out)
    print(f"picture: {args.out}")


if __name__ == "__main__":
    main()
