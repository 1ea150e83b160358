"""Convert an official checkpoint to a csan_mm backbone file, or to a whole model's."""

import argparse


def parse_args() -> argparse.Namespace:
    """Command line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("src", help="checkpoint of the authors: .pth, .pt, .bin or .safetensors")
    parser.add_argument("dst", help="file to write: .safetensors, .pth or .pt")
    parser.add_argument("--source", help="its layout, such as csan-swin or ms-swin; default: told from the names in it")
    parser.add_argument(
        "--part",
        choices=["backbone", "head", "model"],
        default="backbone",
        help="what to write; model: all of it, for load_from and test.py (default: backbone)",
    )
    parser.add_argument(
        "--trust", action="store_true", help="unpickle a file that cannot be read otherwise, which runs the code in it"
    )
    return parser.parse_args()


def main() -> None:
    """Read, convert, write, and say what was kept."""
    args = parse_args()
    from csan_mm import __version__
    from csan_mm.checkpoint import CheckpointError, convert_state_dict, guess_source, left_out, load_file, save_file
    from csan_mm.cli.errors import error_border

    with error_border(args.src):
        weights = load_file(args.src, args.trust)
        source = args.source or guess_source(weights)
        if source is None:
            raise CheckpointError(f"{args.src}: its names are those of no known source; say which it is with --source")
        state = convert_state_dict(weights, source, args.part)
        save_file(state, args.dst, {"source": source, "csan_mm_version": __version__})
    ignored = ", ".join(left_out(weights, state))
    print(f"{args.src} ({source}) -> {args.dst}: {len(state)} of {len(weights)} tensors kept", end="")
    print(f", left out: {ignored}" if ignored else "")


if __name__ == "__main__":
    main()
