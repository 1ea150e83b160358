"""``csan_mm convert``."""

import argparse

from csan_mm.commands.options import add_trust

#: The keys of csan_mm.checkpoint.SOURCES, which cannot be imported without torch.
SOURCE_NAMES = (
    "csan-swin, timm-swin, ms-swin, mm-swin, csan-vit, timm-vit, mm-vit, csan-hiera, timm-hiera, meta-hiera, mala, weightformer, "
    "cbsa, cbsa-seg"
)

HELP = "convert an official checkpoint to a csan_mm backbone file, or to a whole model's"
EXAMPLE = "csan_mm convert swin_tiny_patch4_window7_224.pth swin.safetensors --source ms-swin"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("src", help="checkpoint of the authors: .pth, .pt, .bin or .safetensors")
    parser.add_argument("dst", help="file to write: .safetensors, .pth or .pt")
    parser.add_argument("--source", help=f"its layout: {SOURCE_NAMES}; default: told from the names in it")
    parser.add_argument(
        "--part",
        choices=["backbone", "head", "model"],
        default="backbone",
        help="what to write; model: all of it, for load_from and test.py (default: backbone)",
    )
    add_trust(parser)


def run(args: argparse.Namespace) -> None:
    """Convert."""
    from csan_mm.cli.convert import run as convert

    convert(args)
