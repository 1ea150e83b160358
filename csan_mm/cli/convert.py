"""An official checkpoint as a file of ours, as ``csan_mm convert`` starts it."""

import argparse

from csan_mm.checkpoint import CheckpointError, convert_state_dict, guess_source, left_out, load_file, save_file
from csan_mm.cli.errors import error_border
from csan_mm.version import __version__


def run(args: argparse.Namespace) -> None:
    """Read, convert, write, and say what was kept.

    Args:
        args: ``src``, ``dst``, ``source`` or None, ``part``, ``trust``.

    Raises:
        SystemExit: With one sentence on stderr, where a user can mend the cause.
    """
    with error_border(args.src):
        weights = load_file(args.src, args.trust)
        source = args.source or guess_source(weights)
        if source is None:
            raise CheckpointError(f"{args.src}: its names match no known source; say which it is with --source")
        state = convert_state_dict(weights, source, args.part)
        save_file(state, args.dst, {"source": source, "csan_mm_version": __version__})
    ignored = ", ".join(left_out(weights, state))
    print(f"{args.src} ({source}) -> {args.dst}: {len(state)} of {len(weights)} tensors kept", end="")
    print(f", left out: {ignored}" if ignored else "")
