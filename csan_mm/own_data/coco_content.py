"""What a COCO file teaches: classes in their order, which images have something to learn from, sizes."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from csan_mm.common.errors import ArgumentError, UserError
from csan_mm.own_data.coco_files import CocoFile


def class_names(file: CocoFile, wanted: Sequence[str] | None) -> list[str]:
    """Names of the classes in the file's order, which is the order that mmdet numbers them in; ids may have gaps.

    Args:
        file: The training annotations.
        wanted: Only these. Default: all but the name that Roboflow gives to the group of all.

    Raises:
        UserError: No class, or two of one name.
        ArgumentError: A wanted one is not there.
    """
    categories = file.content["categories"]
    used = {annotation["category_id"] for annotation in file.content["annotations"]}
    names = [row["name"] for row in categories if not _is_group(row, categories, used)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not names:
        trouble = f"two categories called {twice[0]!r}" if twice else "no category"
        raise UserError(f"{file.path} has {trouble}: give each class a category with a name of its own")
    return names if wanted is None else _chosen(names, wanted, str(file.path))


def _chosen(names: list[str], wanted: Sequence[str], source: str) -> list[str]:
    if isinstance(wanted, str) or not wanted:
        raise ArgumentError(f"classes={wanted!r} is invalid: take a list of names")
    for name in wanted:
        if name not in names:
            by_lower = {known.lower(): known for known in names}
            near = [by_lower[known] for known in get_close_matches(str(name).lower(), by_lower, n=3, cutoff=0.5)]
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(names[:20])}"
            raise ArgumentError(f"classes: {source} has no class {name!r}: {hint}")
    return [name for name in names if name in wanted]


def _is_group(row: dict[str, Any], categories: list[dict[str, Any]], used: set) -> bool:
    """Roboflow's first category: the group of all others, with no annotation of its own."""
    others = [other for other in categories if other is not row]
    grouped = bool(others) and all(other.get("supercategory") == row["name"] for other in others)
    return grouped and row["id"] not in used


def learnable(file: CocoFile, classes: Sequence[str]) -> dict[Any, list[dict]]:
    """The annotations of these classes that training learns from, by image id.

    Raises:
        UserError: There is none.
    """
    ids = {row["id"] for row in file.content["categories"] if row["name"] in classes}
    found: dict[Any, list[dict]] = {}
    for annotation in file.content["annotations"]:
        if annotation["category_id"] in ids and not annotation.get("iscrowd"):
            found.setdefault(annotation["image_id"], []).append(annotation)
    if not found:
        raise UserError(f"{file.path} has no annotation of {', '.join(classes[:6])}: there is nothing to learn from")
    return found


def unseen(file: CocoFile, annotations: dict[Any, list[dict]], classes: Sequence[str]) -> list[str]:
    """The classes of which there is no annotation to learn from."""
    seen = {row["category_id"] for rows in annotations.values() for row in rows}
    return [row["name"] for row in file.content["categories"] if row["name"] in classes and row["id"] not in seen]


def without_masks(annotations: dict[Any, list[dict]]) -> int:
    """How many annotations have a box alone."""
    return sum(not row.get("segmentation") for rows in annotations.values() for row in rows)


def sizes(file: CocoFile) -> list[tuple[int, int]]:
    """(width, height) of every image, in pixels, as the file states them."""
    return [(image["width"], image["height"]) for image in file.content["images"]]
