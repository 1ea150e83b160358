"""``csan_mm digits``."""

import argparse
import signal
import sys
from dataclasses import fields

from csan_mm.datasets import FORMS, DigitsSpec, build_digits

HELP = "write the digits data set: real handwritten digits on photographs, without a download"
EXAMPLE = "csan_mm digits data/digits --forms coco --train-count 600 --val-count 150"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options; their defaults are those of ``DigitsSpec``."""
    default = DigitsSpec()
    add = parser.add_argument
    add("out", help="folder that gets the folders coco, ade20k and imagenet")
    add("--forms", nargs="+", choices=FORMS, default=FORMS, help="forms to write; all by default")
    add("--train-count", type=int, default=default.train_count, help="training images; %(default)s by default")
    add("--val-count", type=int, default=default.val_count, help="validation images; %(default)s by default")
    add(
        "--image-size",
        type=int,
        nargs="+",
        default=default.image_size,
        metavar=("H", "W"),
        help="in pixels, one number for a square; 128 by default",
    )
    add(
        "--digits-per-image",
        type=int,
        nargs=2,
        default=default.digits_per_image,
        metavar=("MIN", "MAX"),
        help="digits in an image of the coco and ade20k forms; 1 4 by default",
    )
    add(
        "--digit-side",
        type=int,
        nargs=2,
        metavar=("MIN", "MAX"),
        help="digit height in pixels in the coco and ade20k forms; 3/16 and 7/16 of the shorter image side by default",
    )
    add(
        "--empty-fraction",
        type=float,
        default=default.empty_fraction,
        help="share of coco and ade20k images without a digit; %(default)s by default",
    )
    add("--seed", type=int, default=default.seed, help="the same seed gives the same files; %(default)s by default")
    add("--overwrite", action="store_true", help="replace digits that were made with other options")


def run(args: argparse.Namespace) -> int:
    """Write the data set."""
    signal.signal(signal.SIGTERM, lambda signum, frame: sys.exit(128 + signum))  # so that half a data set is removed
    try:
        spec = spec_from_args(args)
        folders = build_digits(args.out, spec, args.forms, args.overwrite)
    except ValueError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except (ImportError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was written\n")
        return 128 + signal.SIGINT
    height, width = spec.image_size
    for form, folder in folders.items():
        print(f"{form}: {spec.train_count} train and {spec.val_count} val images of {height}x{width} in {folder}")
    return 0


def spec_from_args(args: argparse.Namespace) -> DigitsSpec:
    """Build the specification from the parsed options.

    Raises:
        ValueError: If an option is out of range.
    """
    options = {field.name: getattr(args, field.name) for field in fields(DigitsSpec)}
    if len(args.image_size) == 1:
        options["image_size"] = args.image_size[0]
    return DigitsSpec(**options)
