"""Write a checkpoint for others: weights alone, without optimizer state, a checksum in its name.

python tools/misc/publish_model.py CHECKPOINT OUT.pth
"""

import argparse


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Write a checkpoint's weights alone, with a checksum in the file's name"
    )
    parser.add_argument("checkpoint", help="path of the checkpoint")
    parser.add_argument("out", help="path to write, ending in .pth or .safetensors")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    from csan_mm.checkpoint.backbone_file import publish
    from csan_mm.cli.errors import UserError, error_border

    with error_border(args.checkpoint):
        try:
            print(f"wrote {publish(args.checkpoint, args.out)}")
        except ValueError as error:
            raise UserError(str(error)) from error


if __name__ == "__main__":
    main()
