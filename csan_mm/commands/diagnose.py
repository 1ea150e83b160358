"""``csan_mm diagnose``."""

import argparse

from csan_mm.commands.options import add_cfg_options, add_trust

HELP = "look into backbones: receptive fields and what their mixers do, on your images, as a picture and a JSON file"
EXAMPLE = "csan_mm diagnose receptive-field swin-csan-tiny vit-csan-tiny --out work_dirs/fields"

#: What there is to see; csan_mm.analysis.diagnostics has the same names.
WHAT = {
    "attention-rows": "entropy of attention rows against the length of queries: softmax, unit queries, linear, MALA",
    "budget-dilemma": "value columns of which no step serves all rows, and CSaN's private path",
    "coding-rate": "compression and sparsity by layer: CBT, or another backbone with CBSA, MSSA, TSSA",
    "csan-gains": "CSaN's tau, mu, kpub, kpriv over the image",
    "dynamic-weights": "how much of WeightFormer's kernels is predicted, by depth",
    "receptive-field": "effective receptive fields and their areas",
    "representatives": "where CBSA's representatives draw from, and the segments that follow",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "what", choices=tuple(WHAT), metavar="WHAT", help="; ".join(f"{name}: {text}" for name, text in WHAT.items())
    )
    parser.add_argument(
        "models",
        nargs="+",
        help="names of backbones (`csan_mm models` lists them), paths of configs, names of shipped configs",
    )
    parser.add_argument(
        "--checkpoints",
        nargs="+",
        default=[],
        metavar="FILE",
        help="weights, one file per model in the same order; 'none' for weights as they start (default: none)",
    )
    parser.add_argument("--source", help="layout of the files of backbones given by name (default: csan_mm's own)")
    parser.add_argument("--images", nargs="+", help="image files and folders (default: scikit-learn's two photographs)")
    parser.add_argument(
        "--labels",
        metavar="DIR",
        help="folder of label maps (PNG, one class per value, 255 ignored) named as the images, for `representatives`",
    )
    parser.add_argument(
        "--shape",
        nargs=2,
        type=int,
        default=[224, 224],
        metavar=("H", "W"),
        help="size of the images (default: 224 224)",
    )
    parser.add_argument("--num-images", type=int, default=8, help="use at most so many (default: 8)")
    parser.add_argument(
        "--seed", type=int, default=0, help="of fresh weights and of what is drawn at random (default: 0)"
    )
    parser.add_argument(
        "--out", default="work_dirs/diagnose", help="folder for the picture and the JSON (default: %(default)s)"
    )
    add_cfg_options(parser)
    add_trust(parser)


def run(args: argparse.Namespace) -> None:
    """Look."""
    from csan_mm.cli.diagnose import run as diagnose

    diagnose(args)
