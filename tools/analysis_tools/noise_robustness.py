"""What noise on the projections of attention costs trained models, a table and a picture.

python tools/analysis_tools/noise_robustness.py --model NAME CONFIG CHECKPOINT [--model ...] [--out noise_robustness.png]
"""

import argparse
from functools import partial
from pathlib import Path


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Test models under Gaussian noise on the weights of q, k and v")
    parser.add_argument(
        "--model",
        nargs=3,
        action="append",
        required=True,
        metavar=("NAME", "CONFIG", "CHECKPOINT"),
        help="a trained model and what to call it; give several to compare them",
    )
    parser.add_argument("--variances", nargs="+", type=float, help="of the noise (default: 0 0.001 0.01 0.1 0.3 1)")
    parser.add_argument(
        "--on", choices=["weights", "outputs"], default="weights", help="where the noise is (default: %(default)s)"
    )
    parser.add_argument("--trials", type=int, default=3, help="draws of the noise per variance (default: 3)")
    parser.add_argument("--metric", help="such as accuracy/top1 or mIoU (default: the first of the config's metric)")
    parser.add_argument("--work-dir", default="work_dirs/noise_robustness", help="where logs go (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("noise_robustness.png"), help="picture (default: %(default)s)")
    parser.add_argument(
        "--cfg-options", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="override settings of all"
    )
    parser.add_argument(
        "--trust", action="store_true", help="unpickle a file that cannot be read otherwise, which runs the code in it"
    )
    args = parser.parse_args()
    if args.out.suffix not in (".png", ".svg", ".pdf"):
        parser.error(f"--out {args.out}: a picture ends in .png, .svg or .pdf")
    if args.trials < 1 or any(variance < 0 for variance in args.variances or ()):
        parser.error("--trials from 1 up, and no negative --variances")
    return args


def main() -> None:
    args = parse_args()
    from csan_mm.analysis.projection_noise import VARIANCES, draw, format_points, measure, projections
    from csan_mm.cli.errors import error_border
    from csan_mm.cli.runs import score, trained_runner

    points = []
    for name, config, checkpoint in args.model:
        with error_border(config):
            runner = trained_runner(config, checkpoint, args.cfg_options, args.work_dir, args.trust)
            projections(runner.model)  # refuses a model that has none before anything is measured
            evaluate = partial(score, runner, args.metric)
            points += measure(name, runner.model, evaluate, args.variances or VARIANCES, args.trials, args.on)
    print(format_points(points))
    draw(points, args.out, args.metric or "score")
    print(f"picture: {args.out}")


if __name__ == "__main__":
    main()
