"""Drawn data sets in the layouts people have, small enough to be made in each test."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

CATEGORIES = ((1, "gull"), (2, "tern"), (3, "duck"))


def draw_coco(
    root: Path,
    annotations: str,
    images: str,
    count: int = 6,
    categories: Sequence[tuple[int, str]] = CATEGORIES,
    size: tuple[int, int] = (64, 48),
    prefix: str = "",
    masks: bool = True,
    empty: int = 0,
) -> dict[str, Any]:
    """Grey pictures with a box for each class in turn, whose grey level is its category's id, and their annotation file."""
    content: dict[str, Any] = {
        "info": {"description": "drawn"},
        "images": [],
        "annotations": [],
        "categories": [{"id": key, "name": name} for key, name in categories],
    }
    (root / images).mkdir(parents=True, exist_ok=True)
    for number in range(1, count + 1):
        name, (width, height) = f"{prefix}{number:04}.png", size
        pixels = np.full((height, width, 3), 200, np.uint8)
        content["images"].append({"id": number, "file_name": name, "width": width, "height": height})
        if number > empty:
            key = categories[number % len(categories)][0]
            pixels[8:40, 10:50] = key
            box = {"bbox": [10, 8, 40, 32], "area": 1280, "iscrowd": 0}
            outline = {"segmentation": [[10, 8, 50, 8, 50, 40, 10, 40]]} if masks else {}
            content["annotations"].append({"id": number, "image_id": number, "category_id": key, **box, **outline})
        Image.fromarray(pixels).save(root / images / name)
    path = root / annotations
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return content


@pytest.fixture
def coco(tmp_path: Path) -> Callable[..., Path]:
    """Draws annotation files and images below one folder, and gives the folder."""

    def draw(*files: tuple[str, str], **options: Any) -> Path:
        for annotations, images in files:
            draw_coco(tmp_path / "data", annotations, images, **options)
        return tmp_path / "data"

    return draw
