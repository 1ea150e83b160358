"""What other packages print while a command of ours runs, and no user needs to read. Standard library only."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

#: How the lines begin that mmdet, mmseg and pycocotools write with print().
PRINTED = (
    "Could not import OneDL",
    "loading annotations into memory...",
    "Loading and preparing results...",
    "creating index...",
    "index created!",
    "Done (t=",
    "DONE (t=",
    "Running per image evaluation...",
    "Evaluate annotation type ",
    "Accumulating evaluation results...",
)

#: How their warnings begin.
WARNED = (
    "faster_coco_eval is not installed",
    "Default ``avg_non_ignore`` is False",  # mmseg's recipes and ours leave it so
    "The draw is False, it means",
)


@contextmanager
def without_notices() -> Iterator[None]:
    """Leave the lines of PRINTED out of stdout, and the warnings of WARNED."""
    before = sys.stdout
    sys.stdout = _Sieve(before)
    try:
        with warnings.catch_warnings():
            for beginning in WARNED:
                warnings.filterwarnings("ignore", message=beginning)
            yield
    finally:
        sys.stdout = before


class _Sieve:
    """A text stream without the lines that print() writes in one go and that begin as PRINTED says."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._ends_a_notice = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """print() writes its text, and then the line's end."""
        is_end, self._ends_a_notice = self._ends_a_notice and text == "\n", text.startswith(PRINTED)
        return len(text) if is_end or self._ends_a_notice else self._stream.write(text)
