"""Names and colours of the classes in label maps: from the files that tools write beside them, or made up."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from csan_mm.common.errors import ArgumentError, UserError
from csan_mm.own_data.mask_content import IGNORED, Colour, Masks
from csan_mm.own_data.tree import files, folders

#: Names of files that list classes, one a line, in the order of the values.
_LISTS = ("classes.txt", "class_names.txt", "labels.txt", "names.txt")


@dataclass(frozen=True)
class Names:
    """What a file says of the classes.

    Args:
        names: In the order of the values.
        colours: One each, or None.
        source: The file, for messages.
    """

    names: tuple[str, ...]
    colours: tuple[Colour, ...] | None
    source: str


@dataclass(frozen=True)
class Classes:
    """The classes of a config.

    Args:
        names: In the order of their indices.
        palette: A colour each.
        from_one: Whether values begin at 1 and 0 is ignored: mmseg's ``reduce_zero_label``.
        absent: Those of which there is no pixel.
        source: Where the names are from; None: made up.
    """

    names: tuple[str, ...]
    palette: tuple[Colour, ...]
    from_one: bool
    absent: tuple[str, ...]
    source: str | None


def classes_of(masks: Masks, root: Path, wanted: Sequence[str] | None) -> Classes:
    """Classes for what label maps hold.

    Values begin at 1, and 0 is ignored, where no pixel is 0, or where there are as many names as the largest value.

    Args:
        masks: All label maps.
        root: The data's folder, in which files with names are looked for.
        wanted: The names of all classes, in the order of the values. Default: as a file has them, else made up.

    Raises:
        UserError: One class alone, or none; a file with fewer names than the label maps have classes.
        ArgumentError: ``wanted`` is of another number.
    """
    if not masks.values:
        raise UserError(
            f"the label maps below {root} hold {IGNORED} alone, which means ignored: there is nothing to learn"
        )
    highest, found = masks.values[-1], _given(wanted) or _file_names(root)
    if found is None:
        from_one = masks.values[0] > 0
        names = tuple(f"class_{value}" for value in range(int(from_one), highest + 1))
    else:
        names = found.names
        from_one = masks.values[0] > 0 or len(names) == highest
        if len(names) < highest + 1 - from_one or (wanted is not None and len(names) > highest + 1):
            count = f"{highest + 1} classes, or {highest} where 0 is ignored"
            kind = ArgumentError if wanted is not None else UserError
            raise kind(
                f"{found.source} has {len(names)} names, and the values of the label maps go up to {highest}: name {count}"
            )
    if len(names) < 2:
        raise UserError(f"the label maps below {root} hold one class alone, {names[0]}: there is nothing to tell apart")
    seen = {value - from_one for value in masks.values}
    absent = tuple(name for index, name in enumerate(names) if index not in seen)
    palette = _palette(len(names), from_one, masks.palette, found.colours if found else None)
    return Classes(names, palette, from_one, absent, found.source if found else None)


def _given(wanted: Sequence[str] | None) -> Names | None:
    if wanted is None:
        return None
    if isinstance(wanted, str) or not wanted or len(set(wanted)) < len(wanted):
        raise ArgumentError(
            f"classes={wanted!r} is invalid: take a list of different names, in the order of the values"
        )
    return Names(tuple(wanted), None, "classes=")


def _file_names(root: Path) -> Names | None:
    """Names from the first file of a known form: CVAT's labelmap.txt, a table, or a list."""
    for path in (path for folder in folders(root) for path in files(folder)):
        name = path.name.lower()
        if name == "labelmap.txt":
            return _from_labelmap(path)
        if name in ("_classes.csv", "class_dict.csv"):
            return _from_table(path)
        if name in _LISTS:
            lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
            return Names(tuple(_without_number(lines)), None, str(path))
    return None


def _without_number(lines: Sequence[str]) -> list[str]:
    """'0 gull', '1: tern' -> the names, where each line begins with its number, counted from 0 or 1."""
    found = [re.fullmatch(r"(\d+)[\s:,.]+(\S.*)", line) for line in lines]
    numbers = [int(match[1]) for match in found if match]
    if numbers in (list(range(len(lines))), list(range(1, len(lines) + 1))):
        return [match[2] for match in found if match]
    return list(lines)


def _from_labelmap(path: Path) -> Names:
    """CVAT: ``name:r,g,b:parts:actions``, the rows in the order of the values."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip() and line[0] != "#"]
    rows = [line.split(":") for line in lines]
    colours = tuple(colour for row in rows if len(row) > 1 and (colour := _colour(row[1].split(","))))
    return Names(tuple(row[0] for row in rows), colours if len(colours) == len(rows) else None, str(path))


def _from_table(path: Path) -> Names:
    """Roboflow's _classes.csv (value, name) and class_dict.csv (name, r, g, b); each has a line of titles."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row][1:]
    if path.name.lower() == "_classes.csv":
        by_value = sorted((int(row[0]), row[1]) for row in rows if len(row) > 1 and row[0].isdigit())
        return Names(tuple(name for _, name in by_value), None, str(path))
    colours = tuple(colour for row in rows if (colour := _colour(row[1:4])))
    return Names(tuple(row[0] for row in rows), colours if len(colours) == len(rows) else None, str(path))


def _colour(cells: Sequence[str]) -> Colour | None:
    numbers = [int(cell) for cell in cells if cell.strip().isdigit()]
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 else None


def _palette(
    count: int, from_one: bool, of_maps: tuple[Colour, ...] | None, of_file: tuple[Colour, ...] | None
) -> tuple[Colour, ...]:
    """The colours of a file, of the label maps, or made up: the first in which all classes differ."""
    drawn = (of_maps or ())[int(from_one) : count + int(from_one)]
    for colours in ((of_file or ())[:count], drawn):
        if len(colours) == count and len(set(colours)) == count:
            return tuple(colours)
    return tuple((37 * i % 256, 97 * i % 256, 173 * i % 256) for i in range(count))
