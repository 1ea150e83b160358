"""What lies below a folder: its subfolders, its files by kind, and the part (training, validation, test) a name speaks of."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from csan_mm.common.errors import UserError

PICTURES = {".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp"}

#: How deep data sets nest their folders; ours.
_DEPTH = 5

_WORDS = {
    **dict.fromkeys(("train", "training", "trainannot"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "valannot"), "val"),
    **dict.fromkeys(("test", "testing", "testannot"), "test"),
}


def folders(root: Path) -> list[Path]:
    """The folder and all visible ones below it, links followed, each once, sorted.

    Raises:
        UserError: There is no such folder.
    """
    if not root.is_dir():
        raise UserError(f"--data {root} is not a folder: give the one that holds annotations and images", exit_code=2)
    found, seen = [], set()
    for path, names, _ in os.walk(root, followlinks=True):
        folder = Path(path)
        real = os.path.realpath(path)
        if real in seen or len(folder.relative_to(root).parts) >= _DEPTH:
            names.clear()
        names[:] = sorted(name for name in names if not name.startswith("."))
        if real not in seen:
            found.append(folder)
        seen.add(real)
    return sorted(found)


def files(folder: Path) -> list[Path]:
    """The visible files of a folder, sorted."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if not entry.name.startswith(".") and entry.is_file()]
    return [folder / name for name in sorted(names)]


def part_of(path: Path, root: Path) -> str | None:
    """'train', 'val' or 'test' where the name of a file or folder below ``root`` says so, the last word of the path first."""
    for name in reversed(path.relative_to(root).parts):
        for word in re.split(r"[^a-z]+", name.lower()):
            if word in _WORDS:
                return _WORDS[word]
    return None


def describe(root: Path) -> str:
    """What was found there, for a message: "20 .jpg, 3 .xml files in 4 folders"."""
    places = folders(root)
    kinds = Counter(path.suffix.lower() or "nameless" for path in _all_files(places))
    if not kinds:
        return "no file"
    listed = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common(4))
    return f"{listed} files in {len(places)} folder{'s' * (len(places) > 1)}"


def _all_files(places: list[Path]) -> Iterator[Path]:
    for folder in places:
        yield from files(folder)
