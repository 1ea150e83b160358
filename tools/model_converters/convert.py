"""Convert an official checkpoint to a csan_mm backbone file."""

import argparse
import sys


def parse_args() -> argparse.Namespace:
    """Command line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("src", help="checkpoint of the authors: .pth, .pt, .bin or .safetensors")
    parser.add_argument("dst", help="file to write: .safetensors, .pth or .pt")
    parser.add_argument("--source", help="its layout, such as csan-swin or ms-swin; default: told from the names in it")
    return parser.parse_args()


def main() -> None:
    """Read, convert, write, and say what was kept."""
    args = parse_args()
    from csan_mm import __version__
    from csan_mm.checkpoint import CheckpointError, convert_state_dict, guess_source, load_file, save_file

    try:
        weights = load_file(args.src)
        source = args.source or guess_source(weights)
        if source is None:
            raise CheckpointError(f"{args.src}: its names are those of no known source; say which it is with --source")
        state = convert_state_dict(weights, source)
        save_file(state, args.dst, {"source": source, "csan_mm_version": __version__})
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    left_out = sorted({name.split(".")[0] for name in weights} - {name.split(".")[0] for name in state})
    kept = f"{len(state)} of {len(weights)} tensors kept" + (f", left out: {', '.join(left_out)}" if left_out else "")
    print(f"{args.src} ({source}) -> {args.dst}: {kept}")


if __name__ == "__main__":
    main()
