"""A small COCO: drawn objects on photographs that scikit-learn brings, in the folders, file names and ids of COCO 2017.

It has what COCO's files have and drawn data mostly lack: lying and upright images, a grey JPEG, an image without objects, a group
of objects as one box with RLE, objects in two pieces, objects cut off by the border, ids with gaps.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from mmdet.datasets import CocoDataset
from PIL import Image, ImageDraw
from pycocotools import mask as masks
from sklearn.datasets import load_sample_images

#: COCO's ids go from 1 to 90; these were given up before the first release.
_UNUSED = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
CATEGORY_IDS = [number for number in range(1, 91) if number not in _UNUSED]

#: (width, height) of the images, in COCO's range.
SIZES = [
    (640, 480),
    (427, 640),
    (500, 375),
    (640, 427),
    (333, 500),
    (640, 360),
    (480, 640),
    (612, 612),
    (640, 478),
    (375, 500),
]
EMPTY, GREY, CROWD = 3, 4, 5  # places in SIZES
TRAIN_IMAGES, VAL_IMAGES = 10, 6


def write_coco(root: Path, seed: int = 0) -> Path:
    """Write the data set and return its folder."""
    random = np.random.default_rng(seed)
    photographs = load_sample_images().images
    (root / "annotations").mkdir(parents=True)
    for split, count, first in (("train", TRAIN_IMAGES, 9), ("val", VAL_IMAGES, 139)):
        folder = root / f"{split}2017"
        folder.mkdir()
        content: dict[str, Any] = {
            "info": {},
            "licenses": [],
            "images": [],
            "annotations": [],
            "categories": _categories(),
        }
        for place in range(count):
            _write_image(folder, place, first + 16 * place, photographs[place % 2], content, random)
        (root / "annotations" / f"instances_{split}2017.json").write_text(json.dumps(content))
    return root


def _categories() -> list[dict[str, Any]]:
    return [{"id": key, "name": name} for key, name in zip(CATEGORY_IDS, CocoDataset.METAINFO["classes"], strict=True)]


def _write_image(
    folder: Path, place: int, key: int, photograph: np.ndarray, content: dict[str, Any], random: np.random.Generator
) -> None:
    width, height = SIZES[place]
    image = Image.fromarray(photograph).resize((width, height))
    draw = ImageDraw.Draw(image)
    name = f"{key:012d}.jpg"
    content["images"].append({"id": key, "file_name": name, "width": width, "height": height})
    objects = [] if place == EMPTY else [_polygons(width, height, random) for _ in range(5)]
    for polygons in objects:
        colour = tuple(int(value) for value in random.integers(0, 256, 3))
        for polygon in polygons:
            draw.polygon(polygon, fill=colour, outline="black")
        content["annotations"].append(_annotation(polygons, key, width, height, content, random))
    if place == CROWD:
        content["annotations"].append(_crowd(key, width, height, content))
    (image.convert("L") if place == GREY else image).save(folder / name, quality=85)


def _polygons(width: int, height: int, random: np.random.Generator) -> list[list[float]]:
    """One convex outline, in every third case cut into two pieces; small, medium and large ones as COCO counts them."""
    side = random.choice([24, 70, 160])
    centre = random.uniform(0.05, 0.95, 2) * (width, height)
    angles = (np.arange(7) + random.uniform(0, 0.8, 7)) * 2 * np.pi / 7
    corners = centre + side / 2 * np.stack([np.cos(angles), np.sin(angles)], 1)
    pieces = [corners[:4], corners[4:]] if random.random() < 1 / 3 else [corners]
    return [np.round(np.clip(piece, 0, (width, height)), 2).ravel().tolist() for piece in pieces]


def _annotation(
    polygons: list[list[float]],
    image: int,
    width: int,
    height: int,
    content: dict[str, Any],
    random: np.random.Generator,
) -> dict[str, Any]:
    points = np.concatenate([np.reshape(polygon, (-1, 2)) for polygon in polygons])
    (left, top), (right, bottom) = points.min(0), points.max(0)
    return {
        "id": 1000 + 7 * len(content["annotations"]),
        "image_id": image,
        "category_id": int(random.choice(CATEGORY_IDS)),
        "bbox": [float(left), float(top), float(right - left), float(bottom - top)],
        "area": float(masks.area(masks.merge(masks.frPyObjects(polygons, height, width)))),
        "segmentation": polygons,
        "iscrowd": 0,
    }


def _crowd(image: int, width: int, height: int, content: dict[str, Any]) -> dict[str, Any]:
    """A group of persons over the middle third, its RLE uncompressed as in COCO's files."""
    left, right = width // 3, 2 * width // 3
    inside = (right - left) * height
    return {
        "id": 900100000000 + image,
        "image_id": image,
        "category_id": 1,
        "bbox": [left, 0, right - left, height],
        "area": inside,
        "segmentation": {"size": [height, width], "counts": [left * height, inside, (width - right) * height]},
        "iscrowd": 1,
    }
