"""Images and their label maps in a folder of any usual layout: which folders belong together, and how the names do."""

import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from csan_mm.common.errors import UserError
from csan_mm.own_data.tree import PICTURES, files, folders, part_of

#: What the name of a folder says of its pictures; the last part of a path that has such a word decides.
_MASKS = re.compile(r"mask|label|annot|segment|ground_?truth|(?:^|[^a-z])(?:ann|gt)")
_IMAGES = re.compile(r"ima?ge?s?(?:$|[^a-z])|img|jpeg|photo|picture|rgb")
#: Label maps that number objects or show colours stand beside those that number classes.
_OTHERS = re.compile(r"instance|object|color|colour|polygon", re.IGNORECASE)

#: How many images are looked at to see how names correspond.
_PROBES = 20


@dataclass(frozen=True)
class MaskPart:
    """Images and their label maps: ``images / (stem + image_suffix)`` and ``masks / (stem + mask_suffix)``.

    Args:
        images: Folder of the images.
        masks: Folder of the label maps; it may be the same.
        image_suffix: What ends an image's name, such as '.jpg' or '_leftImg8bit.png'.
        mask_suffix: What ends a label map's.
        stems: What the two names share, with the folders below ``images``, sorted.
        listing: A file of the data that names the stems, or None.
        whole: Whether the stems are all files below ``images`` that end so, which mmseg finds without a list.
    """

    images: Path
    masks: Path
    image_suffix: str
    mask_suffix: str
    stems: tuple[str, ...]
    listing: Path | None = None
    whole: bool = True

    def mask(self, stem: str) -> Path:
        """The label map of one image."""
        return self.masks / (stem + self.mask_suffix)


@dataclass(frozen=True)
class MaskData:
    """What a folder has.

    Args:
        root: The folder.
        train: To train on.
        val: To validate on; None where a part of ``train`` has to.
    """

    root: Path
    train: MaskPart
    val: MaskPart | None


@dataclass(frozen=True)
class _Group:
    """A folder and the pictures below it that are of one kind and part."""

    folder: Path
    masks: bool
    part: str | None
    names: tuple[str, ...]


def find_masks(data: Path) -> MaskData | None:
    """The images with label maps to train on, and those to validate on; None where no two folders belong together.

    Args:
        data: The folder.

    Raises:
        UserError: There are none to train on, but some of another part.
    """
    if not data.is_dir():
        return None
    groups = _groups(data)
    pairs = {part: pair for part in ("train", "val", "test", None) if (pair := _best_pair(groups, part))}
    if not pairs:
        return None
    if "train" not in pairs and None not in pairs:
        raise UserError(f"{data} has no images with label maps to train on: found those of {' and '.join(pairs)}")
    train, val = pairs.get("train") or pairs[None], pairs.get("val")
    if val is None and (lists := _own_lists(data, train)):
        return MaskData(data, *lists)
    return MaskData(data, train, val)


def _groups(root: Path) -> list[_Group]:
    """All pictures below a folder, those of one kind and part together; their folder is the lowest that has all of them."""
    found: dict[Path, list[Path]] = {}
    tops: dict[Path, Path] = {}
    for folder in folders(root):
        above = tops.get(folder.parent)
        same = above is not None and _kind(folder, root) == _kind(above, root)
        tops[folder] = above if same and above is not None else folder
        pictures = [path for path in files(folder) if path.suffix.lower() in PICTURES]
        found.setdefault(tops[folder], []).extend(pictures)
    groups = []
    for top, pictures in found.items():
        if pictures:
            shared = Path(os.path.commonpath({path.parent for path in pictures}))
            names = sorted(path.relative_to(shared).as_posix() for path in pictures)
            groups.append(_Group(shared, *_kind(top, root), tuple(names)))
    return groups


def _kind(folder: Path, root: Path) -> tuple[bool, str | None]:
    """Whether a folder has label maps, and of which part."""
    for name in reversed(folder.relative_to(root).parts):
        if _MASKS.search(name.lower()):
            return True, part_of(folder, root)
        if _IMAGES.search(name.lower()):
            return False, part_of(folder, root)
    return False, part_of(folder, root)


def _best_pair(groups: Sequence[_Group], part: str | None) -> MaskPart | None:
    """The two folders of a part with the most images in common; label maps may lie between the images."""
    images = [group for group in groups if group.part == part and not group.masks]
    masks = [group for group in groups if group.part == part and not _OTHERS.search(group.folder.name)]
    pairs = [pair for group in images for other in masks if (pair := _pair(group, other))]
    return max(pairs, key=lambda pair: len(pair.stems), default=None)


def _pair(images: _Group, masks: _Group) -> MaskPart | None:
    if images is not masks and not masks.masks:
        return None
    endings = _endings(images, masks)
    if endings is None:
        return None
    image_suffix, mask_suffix = endings
    there = set(masks.names)
    named = [name.removesuffix(image_suffix) for name in images.names if name.endswith(image_suffix)]
    stems = tuple(stem for stem in named if stem + mask_suffix in there)
    below = sum(path.name.endswith(image_suffix) for path in _below(images.folder))
    return MaskPart(images.folder, masks.folder, image_suffix, mask_suffix, stems, whole=len(stems) == below)


def _below(folder: Path) -> Iterator[Path]:
    for place in folders(folder):
        yield from files(place)


def _endings(images: _Group, masks: _Group) -> tuple[str, str] | None:
    """What follows the shared part of the names: that of the most images, of several the map of classes, the longest stem."""
    step = max(1, len(images.names) // _PROBES)
    counts: Counter[tuple[str, str]] = Counter()
    for name in images.names[::step]:
        start = name.rfind("/") + 1
        cuts = [match.start() for match in re.finditer(r"[._-]", name) if match.start() > start]
        for cut in cuts:
            counts.update(
                (name[cut:], ending) for ending in _completions(masks.names, name[:cut]) if name[cut:] != ending
            )
            if images is not masks:
                counts.update([(name[cut:], name[cut:])] if name in masks.names and cut == cuts[-1] else [])
    if images is masks:
        counts = Counter({pair: number for pair, number in counts.items() if _MASKS.search(pair[1].lower())})

    def rank(pair: tuple[str, str]) -> tuple[int, bool, bool, int, int]:
        ending = pair[1]
        return counts[pair], "TrainIds" in ending, not _OTHERS.search(ending), -len(pair[0]), -len(ending)

    return max(counts, key=rank, default=None)


def _completions(names: Sequence[str], stem: str) -> list[str]:
    """What stands behind the stem in the sorted names that begin with it, where a new word begins there."""
    found, index = [], bisect_left(names, stem)
    while index < len(names) and names[index].startswith(stem):
        ending = names[index][len(stem) :]
        if ending[:1] in (".", "_", "-") and "/" not in ending:
            found.append(ending)
        index += 1
    return found


def _own_lists(root: Path, pair: MaskPart) -> tuple[MaskPart, MaskPart] | None:
    """Training and validation by lists that the data bring, train.txt and val.txt as in Pascal VOC, the longest ones."""
    known, best = set(pair.stems), {}
    for path in _below(root):
        part = part_of(path, root) if path.suffix == ".txt" else None
        if part in ("train", "val"):
            stems = tuple(path.read_text(encoding="utf-8", errors="replace").split())
            if stems and known.issuperset(stems) and len(stems) > len(best[part].stems if part in best else ()):
                best[part] = replace(pair, stems=stems, listing=path)
    return (best["train"], best["val"]) if len(best) == 2 else None
