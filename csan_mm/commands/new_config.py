"""``csan_mm new-config``."""

import argparse

HELP = "write a config for a folder of annotated images, and check it"
EXAMPLE = "csan_mm new-config --data data/birds --task detection birds.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("out", metavar="OUT.py", help="the config to write")
    parser.add_argument(
        "--data",
        required=True,
        metavar="DIR",
        help="folder with COCO annotations and images, or with images and label maps, or one COCO JSON file to train on",
    )
    parser.add_argument("--task", help="detection, instance or semantic (default: detection; of label maps semantic)")
    parser.add_argument(
        "--model", default="swin-csan-tiny", help="backbone (csan_mm models lists them; default: swin-csan-tiny)"
    )
    parser.add_argument(
        "--detector",
        help="retinanet, faster-rcnn, dino; mask-rcnn, cascade-mask-rcnn; upernet, semantic-fpn (default: by the task)",
    )
    parser.add_argument("--gpus", type=int, help="GPUs to train on; 0: the CPU (default: those torch sees)")
    parser.add_argument(
        "--classes",
        metavar="NAME,NAME",
        help="train on these alone; of label maps the names of all values, in their order",
    )
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument("--no-preflight", action="store_true", help="write the config and do not check it")


def run(args: argparse.Namespace) -> int:
    """Write and check."""
    from csan_mm.cli.errors import error_border
    from csan_mm.commands import main
    from csan_mm.own_data import new_config

    classes = None if args.classes is None else [name.strip() for name in args.classes.split(",")]
    with error_border(args.out):
        done = new_config(
            args.data, args.out, args.task, args.model, args.detector, args.gpus, classes=classes, force=args.force
        )
    print("\n".join([*done.notes, *(f"wrote {path}" for path in done.files)]), flush=True)
    status = 0 if args.no_preflight else main(["preflight", args.out])
    if status < 2:
        print(f"train it with: {done.train_command}")
    return status
