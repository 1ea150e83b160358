"""The three forms on disk. Each writer fills an empty folder; ``digits_build`` makes that safe.

Nothing that varies between runs (dates, paths, host names) goes into a file, and JSON keys are sorted.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from .digits import DigitsGenerator, Instance
from .digits_spec import DIGITS_CLASSES, SPLITS

JPEG_QUALITY = 95


def write_coco(folder: Path, generator: DigitsGenerator) -> None:
    """Write the COCO form, for mmdet's ``CocoDataset``.

    ``train/000001.png``, ``val/000001.png``, ``annotations/instances_train.json`` and ``instances_val.json``. Masks are
    compressed RLE of the visible pixels (mmdet reads them with its default ``poly2mask=True``), boxes are the tight
    boxes of these masks, areas their pixel counts. The additional key ``source_index`` of an annotation is the index
    of the handwritten digit among scikit-learn's.

    Args:
        folder: An existing, empty folder.
        generator: Draws the images.

    Raises:
        ImportError: If pycocotools is missing.
    """
    for split in SPLITS:
        (folder / split).mkdir()
        images: list[dict[str, Any]] = []
        annotations: list[dict[str, Any]] = []
        for index in range(generator.spec.count(split)):
            scene = generator.scene(split, index)
            name = f"{index + 1:06d}.png"
            Image.fromarray(scene.image).save(folder / split / name)
            height, width = scene.image.shape[:2]
            images.append({"id": index + 1, "file_name": name, "height": height, "width": width})
            for instance in scene.instances:  # ids from 1: pycocotools takes a match with id 0 for no match
                annotations.append(_coco_annotation(instance, len(annotations) + 1, index + 1))
        path = folder / "annotations" / f"instances_{split}.json"
        path.parent.mkdir(exist_ok=True)
        write_json(path, _coco_file(images, annotations))


def write_ade20k(folder: Path, generator: DigitsGenerator) -> None:
    """Write the ADE20K form, for mmseg's ``BaseSegDataset`` with its default suffixes.

    ``images/training/000001.jpg``, ``annotations/training/000001.png`` and the same under ``validation``. The images
    are those of the COCO form. A label map is one 8-bit channel: 0 for the photograph, 1 + digit for a digit. Read as
    it is (``reduce_zero_label=False``) it has the 11 classes of ``DIGITS_SEG_METAINFO``; with ADE20K's own
    ``reduce_zero_label=True`` the photograph is ignored and the 10 classes of ``DIGITS_METAINFO`` remain.

    Args:
        folder: An existing, empty folder.
        generator: Draws the images.
    """
    for split, name in zip(SPLITS, ("training", "validation")):
        images, labels = folder / "images" / name, folder / "annotations" / name
        images.mkdir(parents=True)
        labels.mkdir(parents=True)
        for index in range(generator.spec.count(split)):
            scene = generator.scene(split, index)
            jpeg = images / f"{index + 1:06d}.jpg"
            Image.fromarray(scene.image).save(jpeg, quality=JPEG_QUALITY, subsampling=0)
            Image.fromarray(scene.label_map).save(labels / f"{index + 1:06d}.png")


def write_imagenet(folder: Path, generator: DigitsGenerator) -> None:
    """Write the ImageNet form, for mmpretrain's ``CustomDataset`` or ``ImageNet``.

    ``train/<class>/000001.png`` and ``val/<class>/000001.png`` with one large digit each. The classes take turns, so
    their counts differ by one at most; all ten folders exist.

    Args:
        folder: An existing, empty folder.
        generator: Draws the images.
    """
    for split in SPLITS:
        for name in DIGITS_CLASSES:
            (folder / split / name).mkdir(parents=True)
        for index in range(generator.spec.count(split)):
            scene = generator.crop(split, index)
            name = DIGITS_CLASSES[scene.instances[0].label]
            Image.fromarray(scene.image).save(folder / split / name / f"{index + 1:06d}.png")


WRITERS: dict[str, Callable[[Path, DigitsGenerator], None]] = {
    "coco": write_coco,
    "ade20k": write_ade20k,
    "imagenet": write_imagenet,
}


def write_json(path: Path, content: Any, indent: int | None = None) -> None:
    """Write ``content`` as JSON with sorted keys and a final newline."""
    separators = (",", ":") if indent is None else None
    path.write_text(json.dumps(content, sort_keys=True, indent=indent, separators=separators) + "\n", encoding="utf-8")


def encode_mask(mask: np.ndarray) -> dict[str, Any]:
    """Return a (H, W) bool mask as COCO's compressed run-length code: ``size`` and ``counts`` as ASCII text.

    Raises:
        ImportError: If pycocotools is missing.
    """
    try:
        from pycocotools import mask as coco_mask
    except ImportError as error:
        raise ImportError("the COCO form of the digits needs pycocotools: pip install pycocotools") from error
    code = coco_mask.encode(np.asfortranarray(mask, dtype=np.uint8))
    return {"size": list(code["size"]), "counts": code["counts"].decode("ascii")}


def _coco_annotation(instance: Instance, annotation_id: int, image_id: int) -> dict[str, Any]:
    return {
        "id": annotation_id,
        "image_id": image_id,
        "category_id": instance.label + 1,
        "bbox": list(instance.box),
        "area": int(np.count_nonzero(instance.mask)),
        "iscrowd": 0,
        "segmentation": encode_mask(instance.mask),
        "source_index": instance.source,
    }


def _coco_file(images: list[dict[str, Any]], annotations: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "info": {"description": "scikit-learn's handwritten digits on scikit-learn's photographs"},
        "licenses": [],
        "categories": [
            {"id": label + 1, "name": name, "supercategory": "digit"} for label, name in enumerate(DIGITS_CLASSES)
        ],
        "images": images,
        "annotations": annotations,
    }
