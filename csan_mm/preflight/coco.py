"""COCO annotation files: ids, boxes, masks, and what is left of them after mmdet's own filters."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from csan_mm.common.findings import Finding, Severity
from csan_mm.preflight.classes import compare_classes
from csan_mm.preflight.datasets import OpenedDataset
from csan_mm.preflight.images import check_images
from csan_mm.preflight.samples import coco_samples, read_json

_PARTS = {"images": ("id", "file_name", "width", "height"), "annotations": ("id", "image_id", "category_id", "bbox"),
          "categories": ("id", "name")}  # fmt: skip

_CURE_IDS = "give every entry an id of its own"
_CURE_BOX = "correct or remove the annotation; training passes over it without a word"
_CURE_MASK = "correct the segmentation, or remove the annotation"


def check_coco(opened: OpenedDataset) -> Iterator[Finding]:
    """Everything about a data set in COCO form, its images included."""
    path, where = opened.dataset.ann_file, opened.where
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        yield Finding(Severity.FAULT, path, f"is no readable JSON ({error})", "write it again", where)
        return
    broken = list(_check_structure(content, path, where))
    yield from broken
    if any(finding.severity is Severity.FAULT for finding in broken):
        return
    if opened.classes is not None and not isinstance(opened.classes, str):
        names = [category["name"] for category in content["categories"]]
        yield from compare_classes(opened.classes, names, where, path)
    with_mask = any(step.get("with_mask") for step in opened.settings.get("pipeline", []))
    yield from _check_annotations(content, path, where, with_mask)
    yield from _check_rest(content, opened)
    yield from check_images(coco_samples(content, opened.dataset.data_prefix["img"]), where)


def _check_structure(content: object, path: str, where: str) -> Iterator[Finding]:
    """The three lists, their entries' keys, and ids that are there twice."""
    cure = "write it in COCO's instances form"
    for part, keys in _PARTS.items():
        entries = content.get(part) if isinstance(content, dict) else None
        if not isinstance(entries, list):
            yield Finding(Severity.FAULT, path, f"has no list {part!r}", cure, where)
            continue
        for key in keys:
            lacking = [index for index, entry in enumerate(entries) if key not in entry]
            if lacking:
                says = f"{len(lacking)} of its {part} have no {key!r} (the first: number {lacking[0]})"
                yield Finding(Severity.FAULT, path, says, cure, where)
        for key, times in Counter(entry.get("id") for entry in entries).items():
            if times > 1:
                yield Finding(Severity.FAULT, path, f"id {key!r} stands {times} times in {part}", _CURE_IDS, where)


def _check_annotations(content: dict, path: str, where: str, with_mask: bool) -> Iterator[Finding]:
    images = {image["id"]: image for image in content["images"]}
    categories = {category["id"] for category in content["categories"]}
    for annotation in content["annotations"]:
        subject = f"{path}, annotation {annotation['id']}"
        image = images.get(annotation["image_id"])
        if image is None:
            yield Finding(
                Severity.FAULT, subject, "belongs to an image that is not listed", "correct its image_id", where
            )
            continue
        subject += f" (of {image['file_name']})"
        if annotation["category_id"] not in categories:
            yield Finding(Severity.FAULT, subject, "has a category_id that is not listed", "correct it", where)
        for severity, says in _check_box(annotation, image):
            yield Finding(severity, subject, says, _CURE_BOX, where)
        if with_mask and (trouble := _mask_trouble(annotation, image)):
            yield Finding(Severity.FAULT, subject, trouble, _CURE_MASK, where)


def _check_box(annotation: dict, image: dict) -> Iterator[tuple[Severity, str]]:
    """What mmdet's CocoDataset drops, and what it would cut."""
    box = annotation["bbox"]
    if (
        not isinstance(box, list)
        or len(box) != 4
        or not all(isinstance(value, (int, float)) and math.isfinite(value) for value in box)
    ):
        yield Severity.FAULT, "has a bbox that is not four finite numbers"
        return
    x, y, width, height = box
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


def _mask_trouble(annotation: dict, image: dict) -> str | None:
    """Why training with masks would fail or learn nothing from it; None where it is fine."""
    segmentation = annotation.get("segmentation")
    if not segmentation:
        return "has no segmentation, and the pipeline loads masks"
    if isinstance(segmentation, list):
        usable = any(len(polygon) >= 6 and len(polygon) % 2 == 0 for polygon in segmentation)
        return None if usable else "has no polygon of three points or more"
    if tuple(segmentation.get("size", ())) != (image["height"], image["width"]):
        return "has a run-length mask of another size than its image"
    from pycocotools import mask as mask_utils  # comes with mmdet, which alone needs it

    try:
        counts = segmentation["counts"]
        mask_utils.area(
            mask_utils.frPyObjects(segmentation, *segmentation["size"]) if isinstance(counts, list) else segmentation
        )
    except (KeyError, TypeError, ValueError) as error:
        return f"has an unreadable run-length mask ({error})"
    return None


def _check_rest(content: dict, opened: OpenedDataset) -> Iterator[Finding]:
    """How many images are left to train on, by mmdet's rules."""
    dataset, where = opened.dataset, opened.where
    filters = dataset.filter_cfg or {}
    if dataset.test_mode or isinstance(opened.classes, str):
        return
    usable = _usable_images(content, opened.classes) if filters.get("filter_empty_gt") else None
    left = [
        image for image in content["images"]
        if (usable is None or image["id"] in usable) and min(image["width"], image["height"]) >= filters.get("min_size", 0)
    ]  # fmt: skip
    total = len(content["images"])
    if not content["annotations"]:
        cure = "write the boxes there, or name the file that has them"
        yield Finding(
            Severity.FAULT, dataset.ann_file, "has no annotation: there is nothing to learn from", cure, where
        )
    elif not left:
        cure = "look at the class names and filter_cfg"
        yield Finding(Severity.FAULT, dataset.ann_file, f"none of its {total} images is left to train on", cure, where)
    elif len(left) < total:
        yield Finding(
            Severity.NOTE, dataset.ann_file, f"{len(left)} of its {total} images are left by filter_cfg", where=where
        )


def _usable_images(content: dict, classes: Iterable[str] | None) -> set:
    """Images with an annotation of a wanted class, as mmdet counts them."""
    wanted = {category["id"] for category in content["categories"] if classes is None or category["name"] in classes}
    return {annotation["image_id"] for annotation in content["annotations"] if annotation["category_id"] in wanted}
