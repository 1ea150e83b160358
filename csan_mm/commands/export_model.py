"""``csan_mm export-model``."""

import argparse

from csan_mm.commands.options import add_cfg_options, add_trust

HELP = "write a trained model as ONNX or torch.export for any batch and image size; it is run and compared before it is kept"
EXAMPLE = "csan_mm export-model CONFIG CHECKPOINT detector.onnx"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("config", help="path of the config the model was trained with")
    parser.add_argument("checkpoint", help="path of its checkpoint")
    parser.add_argument("out", help="file to write, ending in .onnx or .pt2")
    parser.add_argument(
        "--part",
        choices=["model", "backbone"],
        default="model",
        help="model: preprocessed image to the raw outputs of a dense head, without decoding and NMS (default: model)",
    )
    parser.add_argument("--opset", type=int, default=18, help="ONNX operator set, from 17 (default: 18)")
    add_cfg_options(parser)
    add_trust(parser)


def run(args: argparse.Namespace) -> None:
    """Export."""
    from csan_mm.cli.export import run as export

    export(args)
