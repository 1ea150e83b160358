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
    parser.add_argument(
        "--trust", action="store_true", help="unpickle a file that cannot be read otherwise, which runs the code in it"
    )
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    from csan_mm.checkpoint.backbone_file import publish
    from csan_mm.cli.errors import error_border

    with error_border(args.checkpoint):
        print(f"wrote {publish(args.checkpoint, args.out, args.trust)}")


if __name__ == "__main__":
    main()
