"""The form of a COCO annotation file: lists, keys, and the type of every value."""

from collections.abc import Callable, Iterator
from typing import Any

from csan_mm.common.findings import Finding, Severity
from csan_mm.preflight.masks import LARGEST, is_number

_CURE_FORM = "write it in COCO's instances form"
_CURE_IDS = "give every entry an id of its own"

#: Ids beyond 64 bits do not survive numpy, in which the metric sorts them.
_LARGEST_ID = 2**63 - 1


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return True
    return is_number(value) and value == int(value) and abs(value) <= _LARGEST_ID


def _is_side(value: Any) -> bool:
    return type(value) is int and value > 0


def _is_box(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and all(map(is_number, value))


def _is_flag(value: Any) -> bool:
    return type(value) in (int, bool) and value in (0, 1)


#: For each list: key, whether it must be there, what its value must be, in words.
_RULES: dict[str, list[tuple[str, bool, Callable[[Any], bool], str]]] = {
    "images": [
        ("id", True, _is_id, "a whole number or text"),
        ("file_name", True, lambda value: isinstance(value, str) and "\0" not in value, "a file name"),
        ("width", True, _is_side, "a whole number above 0"),
        ("height", True, _is_side, "a whole number above 0"),
    ],
    "annotations": [
        ("id", True, _is_id, "a whole number or text"),
        ("image_id", True, _is_id, "a whole number or text"),
        ("category_id", True, _is_id, "a whole number or text"),
        ("bbox", True, _is_box, "four finite numbers"),
        ("area", False, is_number, "a finite number"),
        ("iscrowd", False, _is_flag, "0 or 1"),
        ("ignore", False, _is_flag, "0 or 1"),
    ],
    "categories": [
        ("id", True, _is_id, "a whole number or text"),
        ("name", True, lambda value: isinstance(value, str), "text"),
    ],
}


def check_form(content: Any, path: str, where: str, needs_annotations: bool) -> Iterator[Finding]:
    """Everything that would stop pycocotools or mmdet from reading the file; each finding is a fault.

    Args:
        content: What the file holds.
        path: The file.
        where: The data set's place in the config.
        needs_annotations: Whether a list of annotations must be there: training or a metric reads them.
    """
    for part, rules in _RULES.items():
        entries = content.get(part) if isinstance(content, dict) else None
        if entries is None and part == "annotations" and not needs_annotations and isinstance(content, dict):
            continue
        if not isinstance(entries, list):
            yield Finding(Severity.FAULT, path, f"has no list {part!r}", _CURE_FORM, where)
            continue
        wrong = [index for index, entry in enumerate(entries) if not isinstance(entry, dict)]
        if wrong:
            says = f"{len(wrong)} of its {part} are not objects (the first: number {wrong[0]})"
            yield Finding(Severity.FAULT, path, says, _CURE_FORM, where)
            continue
        yield from _check_keys(entries, part, path, where)
        for number, entry in enumerate(entries):
            for key, _, is_right, words in rules:
                if key in entry and not is_right(entry[key]):
                    subject = f"{path}, {part[:-1] if part != 'categories' else 'category'} {_name(entry, number)}"
                    yield Finding(
                        Severity.FAULT, subject, f"has {_article(key)} {key} that is not {words}", "correct it", where
                    )
        yield from _check_ids(entries, part, path, where)


def _check_keys(entries: list[dict], part: str, path: str, where: str) -> Iterator[Finding]:
    for key, needed, _, _ in _RULES[part]:
        lacking = [index for index, entry in enumerate(entries) if key not in entry] if needed else []
        if lacking:
            says = f"{len(lacking)} of its {part} have no {key!r} (the first: number {lacking[0]})"
            yield Finding(Severity.FAULT, path, says, _CURE_FORM, where)


def _check_ids(entries: list[dict], part: str, path: str, where: str) -> Iterator[Finding]:
    """Ids that stand twice, and lists that mix numbers and text, which nothing can sort."""
    ids = [entry["id"] for entry in entries if "id" in entry and _is_id(entry["id"])]
    if len(set(ids)) < len(ids):
        times: dict[Any, int] = {}
        for key in ids:
            times[key] = times.get(key, 0) + 1
        for key, count in times.items():
            if count > 1:
                yield Finding(Severity.FAULT, path, f"id {key!r} stands {count} times in {part}", _CURE_IDS, where)
    if part != "annotations" and len({isinstance(key, str) for key in ids}) > 1:
        says = f"has ids of {part} that are numbers and others that are text"
        yield Finding(Severity.FAULT, path, says, "write all as numbers", where)


def _article(word: str) -> str:
    return "an" if word[0] in "aei" else "a"


def _name(entry: dict, number: int) -> str:
    """An entry for a message: its id, or its place in the list where the id is unusable."""
    return str(entry["id"]) if _is_id(entry.get("id")) else f"number {number} of the list"


def check_box(annotation: dict, image: dict) -> Iterator[tuple[Severity, str]]:
    """What mmdet's CocoDataset drops, and what it would cut.

    Args:
        annotation: One of right form.
        image: The image it belongs to.

    Yields:
        How bad it is, and what is so.
    """
    x, y, width, height = annotation["bbox"]
    if max(map(abs, (x, y, width, height))) > LARGEST:
        yield Severity.FAULT, f"has a box with a value beyond {LARGEST:.0f}"
        return
    if width < 1 or height < 1:
        yield Severity.WARNING, "has a box less than 1 pixel wide or high"
    if "area" not in annotation:
        yield Severity.FAULT, "has no area"
    elif annotation["area"] <= 0:
        yield Severity.WARNING, "has an area of 0"
    inside_x = min(x + width, image["width"]) - max(x, 0)
    inside_y = min(y + height, image["height"]) - max(y, 0)
    if inside_x <= 0 or inside_y <= 0:
        yield Severity.WARNING, "has a box outside its image"
    elif inside_x < width - 1 or inside_y < height - 1:
        yield Severity.NOTE, "has a box that reaches out of its image"
