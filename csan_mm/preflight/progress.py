"""Progress of long checks, on stderr and only where that is a terminal."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def tracked(items: Iterable[Item], what: str, total: int | None = None) -> Iterator[Item]:
    """The items, with a bar on a terminal while they are gone through.

    Args:
        items: Any.
        what: What is done, a few words.
        total: How many there are. Default: ``len(items)``.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(items, what, total=total, console=console, transient=True, update_period=0.2)


def announce(what: str) -> None:
    """Say on a terminal what takes long and has no length that could be shown."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{what} ...\n")
