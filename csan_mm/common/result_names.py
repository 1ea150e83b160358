"""Under which name an image's result is written: short where that is enough, and never the same for two images."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath


def result_names(paths: Iterable[str | os.PathLike[str]]) -> dict[str, Path]:
    """A name, without a result's suffix, for each image of a data set.

    ``a/p0.png`` gives ``p0``. Where two images share a file name, all keep their folders, below the one they have in common
    (``cam1/0001`` and ``cam2/0001``). Where two differ in their suffix alone, these keep it.

    Args:
        paths: Paths or URLs of the images; one given twice counts once.

    Returns:
        Each path as it was given, and its name: relative, no two of them the same.
    """
    given = list(dict.fromkeys(map(str, paths)))
    names = [Path(_parts(path)[-1]) for path in given]
    if len(set(names)) < len(names):
        parts = [_parts(path) for path in given]
        shared = _shared([own[:-1] for own in parts])
        names = [Path(*own[shared:]) for own in parts]
    return dict(zip(given, short_names(names)))


def _shared(folders: list[tuple[str, ...]]) -> int:
    """How many parts all have in common from the start on."""
    return next((i for i, level in enumerate(zip(*folders)) if len(set(level)) > 1), min(map(len, folders)))


def short_names(names: list[Path]) -> list[Path]:
    """Names without their suffix, but for those that would then be two of a kind.

    Args:
        names: File names or relative paths, no two of them the same.

    Returns:
        As many, in the same order, no two of them the same.
    """
    stems = [name.with_suffix("") for name in names]
    count = Counter(stems)
    short = [stem if count[stem] == 1 else name for stem, name in zip(stems, names)]
    # p0.jpg and p0.png keep their suffixes, and a third image may be called p0.jpg.png.
    return short if len(set(short)) == len(short) else list(names)


def with_ending(name: Path, ending: str) -> Path:
    """``p0`` and ``.json`` make ``p0.json``; a suffix that is part of the name stays."""
    return name.with_name(name.name + ending)


def _parts(path: str) -> tuple[str, ...]:
    """The folders and the file, of a URL without its scheme."""
    _, separator, rest = path.partition("://")
    return PurePosixPath(rest if separator else os.path.abspath(path)).parts
