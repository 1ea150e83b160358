"""``csan_mm publish``."""

import argparse

from csan_mm.commands.options import add_trust

HELP = "write a checkpoint for others: weights alone, without optimizer state, a checksum in the file's name"
EXAMPLE = "csan_mm publish CHECKPOINT OUT.pth"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("checkpoint", help="path of the checkpoint")
    parser.add_argument("out", help="path to write, ending in .pth or .safetensors")
    add_trust(parser)


def run(args: argparse.Namespace) -> None:
    """Publish."""
    from csan_mm.checkpoint.backbone_file import publish
    from csan_mm.cli.errors import error_border

    with error_border(args.checkpoint):
        print(f"wrote {publish(args.checkpoint, args.out, args.trust)}")
