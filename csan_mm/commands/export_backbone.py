"""``csan_mm export-backbone``."""

import argparse

from csan_mm.commands.options import add_cfg_options, add_trust

HELP = "write the backbone of a trained model alone, as .safetensors and .pth, for init_cfg or get_backbone"
EXAMPLE = "csan_mm export-backbone CONFIG CHECKPOINT backbone"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("config", help="path of the config the model was trained with")
    parser.add_argument("checkpoint", help="path of its checkpoint")
    parser.add_argument("out", help="path of the files to write, without suffix")
    add_cfg_options(parser)
    add_trust(parser)


def run(args: argparse.Namespace) -> None:
    """Export."""
    from csan_mm.checkpoint.backbone_file import export_backbone
    from csan_mm.cli.errors import error_border
    from csan_mm.common.config import merge_options, read_config

    with error_border(args.config):
        cfg = read_config(args.config)
        merge_options(cfg, args.cfg_options)
        for path in export_backbone(args.checkpoint, cfg, args.out, args.trust):
            print(f"wrote {path} ({path.stat().st_size / 2**20:.1f} MiB)")
