"""Class names: of the config, of the annotations, and the number of classes the heads predict."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from csan_mm.common.findings import Finding, Severity
from csan_mm.preflight.datasets import OpenedDataset

#: Parts of a model whose num_classes is not that of the data set.
_OTHER_CLASSES = ("backbone", "rpn_head", "semantic_head")

_CURE_HEADS = "set num_classes of every head to the number of classes in metainfo"


def check_class_setting(opened: OpenedDataset) -> Iterator[Finding]:
    """``classes=('ship')`` is a string, and its letters would become the classes."""
    classes = opened.classes
    if isinstance(classes, str):
        yield Finding(
            Severity.FAULT,
            f"metainfo classes={classes!r}",
            "is one string, and would be taken for a class per letter",
            f"write a tuple with a comma: classes=({classes!r},)",
            opened.where,
        )
        return
    twice = sorted({name for name in classes or () if list(classes).count(name) > 1})
    if twice:
        yield Finding(
            Severity.FAULT, f"metainfo classes: {', '.join(twice)}", "stands more than once", "remove it", opened.where
        )


def check_heads(opened: OpenedDataset, model: Any) -> Iterator[Finding]:
    """Every head of the model predicts as many classes as the data set has.

    Args:
        opened: The data set.
        model: The config's ``model``.
    """
    classes = opened.classes
    if classes is None or isinstance(classes, str):
        return
    for path, count in head_classes(model):
        if count != len(classes):
            says = f"= {count}, and {opened.where} has {len(classes)} classes"
            yield Finding(Severity.FAULT, path, says, _CURE_HEADS, opened.where)


def head_classes(part: Any, path: str = "model") -> Iterator[tuple[str, int]]:
    """Every ``num_classes`` in the config of a model that counts the classes of the data, with its place."""
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, (list, tuple)) else ()
    for key, value in items:
        if key == "num_classes" and isinstance(value, int):
            yield f"{path}.{key}", value
        elif key not in _OTHER_CLASSES:
            yield from head_classes(value, f"{path}.{key}")


def compare_classes(wanted: Sequence[str], found: Sequence[str], where: str, source: str) -> Iterator[Finding]:
    """The config's class names against those of the annotations.

    Args:
        wanted: ``metainfo['classes']``.
        found: The annotations' names, in their order.
        where: The data set's place in the config.
        source: The annotation file.
    """
    absent = [name for name in wanted if name not in found]
    if absent and len(absent) == len(wanted):
        says = f"has none of the config's classes ({_some(wanted)}): nothing would be left to train on"
        yield Finding(
            Severity.FAULT, source, says, f"set metainfo=dict(classes=...) to its names: {_some(found)}", where
        )
        return
    for name in absent:
        by_lower = {other.lower(): other for other in found}
        near = [by_lower[other] for other in difflib.get_close_matches(name.lower(), by_lower, n=1)]
        says = f"has no category {name!r}, which metainfo names" + (f" (it has {near[0]!r})" if near else "")
        yield Finding(
            Severity.FAULT, source, says, "make the names equal: a missing one shifts the labels behind it", where
        )
    unused = [name for name in found if name not in wanted]
    if unused:
        yield Finding(Severity.NOTE, source, f"has categories that metainfo leaves out: {_some(unused)}", where=where)
    shared = [name for name in found if name in wanted]
    if not absent and shared != list(wanted):
        says = f"lists the classes in another order ({_some(shared)}) than metainfo ({_some(wanted)}): names would be mixed up"
        yield Finding(
            Severity.FAULT, source, says, "write metainfo's classes in the order of the annotation file", where
        )


def _some(names: Sequence[str]) -> str:
    names = list(names)
    return ", ".join(map(str, names[:6])) + (f", ... ({len(names)})" if len(names) > 6 else "")
