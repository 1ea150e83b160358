"""Write the backbone of a trained model alone, as .safetensors and .pth, ready for `init_cfg` or `get_backbone`.

python tools/export_backbone.py CONFIG CHECKPOINT OUT
"""

import argparse


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Write the backbone of a trained model alone")
    parser.add_argument("config", help="path of the config the model was trained with")
    parser.add_argument("checkpoint", help="path of its checkpoint")
    parser.add_argument("out", help="path of the files to write, without suffix")
    parser.add_argument(
        "--trust", action="store_true", help="unpickle a file that cannot be read otherwise, which runs the code in it"
    )
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    from csan_mm.checkpoint.backbone_file import export_backbone
    from csan_mm.cli.errors import error_border
    from csan_mm.common.config import read_config

    with error_border(args.config):
        for path in export_backbone(args.checkpoint, read_config(args.config), args.out, args.trust):
            print(f"wrote {path} ({path.stat().st_size / 2**20:.1f} MiB)")


if __name__ == "__main__":
    main()
