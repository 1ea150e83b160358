"""``csan_mm models``."""

import argparse

HELP = "the names that csan_mm.get_backbone takes"
EXAMPLE = "csan_mm models swin"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("pattern", nargs="?", default="", help="only names that contain it")


def run(args: argparse.Namespace) -> int:
    """List."""
    from csan_mm.zoo import list_models

    names = list_models(args.pattern)
    print("\n".join(names) if names else f"no model's name contains {args.pattern!r}")
    return 0 if names else 1
