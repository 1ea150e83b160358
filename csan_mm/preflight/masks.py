"""Segmentations of COCO annotations, read as strictly as pycocotools needs them.

pycocotools checks little: a run-length mask that does not cover its picture makes ``iou`` run for ever, an empty one is decoded
to whatever stood in memory, and a None in a polygon makes it draw without end. So nothing is handed to it here; its formats are
read in numpy.
"""

import math
from typing import Any

import numpy as np

#: The largest coordinate, in pixels, that is taken for one: rleFrPoly keeps five points for each pixel of an outline. Ours.
LARGEST = 1e6


def is_number(value: Any) -> bool:
    """Whether a JSON value is a finite number; true and false are none."""
    return type(value) in (int, float) and math.isfinite(value)


def mask_trouble(segmentation: Any, width: int, height: int, evaluated: bool) -> str | None:
    """Why a mask cannot be learnt from or scored, or None.

    Args:
        segmentation: An annotation's: polygons, or a run-length mask, compressed or not.
        width: Of the image, in pixels.
        height: Of the image, in pixels.
        evaluated: Whether a metric reads it too, which takes no polygon that training would pass over.
    """
    if not segmentation:
        return "has no segmentation, and masks are loaded"
    if isinstance(segmentation, list):
        return _polygon_trouble(segmentation, evaluated)
    if not isinstance(segmentation, dict):
        return "has a segmentation that is neither a list of polygons nor a run-length mask"
    size, counts = segmentation.get("size"), segmentation.get("counts")
    if not isinstance(size, list) or [type(side) for side in size] != [int, int]:
        return "has an unreadable run-length mask (size is not two whole numbers)"
    if size != [height, width]:
        return "has a run-length mask of another size than its image"
    if isinstance(counts, list):
        runs = counts if set(map(type, counts)) == {int} else None
    else:
        runs = compressed_runs(counts) if isinstance(counts, str) else None
    if runs is None:
        return "has an unreadable run-length mask (counts are neither whole numbers nor COCO's text)"
    if min(runs) < 0 or sum(runs) != height * width:
        return "has a run-length mask whose counts do not add up to its image"
    return None


def _polygon_trouble(polygons: list, evaluated: bool) -> str | None:
    usable = 0
    for polygon in polygons:
        if not isinstance(polygon, list):
            return "has a segmentation that is not a list of polygons: write [[x, y, ...], ...]"
        if not set(map(type, polygon)) <= {int, float} or not all(map(math.isfinite, polygon)):
            return "has a polygon with a value that is not a finite number"
        if polygon and max(max(polygon), -min(polygon)) > LARGEST:
            return f"has a polygon with a coordinate beyond {LARGEST:.0f}"
        usable += len(polygon) >= 6 and len(polygon) % 2 == 0
    if not usable:
        return "has no polygon of three points or more"
    if evaluated and usable < len(polygons):
        return "has a polygon that the metric cannot read: fewer than three points, or an odd number of values"
    return None


def compressed_runs(text: str) -> list[int] | None:
    """The run lengths in COCO's compressed text, or None where it is none.

    As ``rleFrString`` of pycocotools' maskApi.c: 6 bits a character from '0' on, the sixth says that the number goes on, the
    fifth of its last one is the sign; from the fourth run on a number is the difference to the run two before.
    """
    codes = np.frombuffer(text.encode("utf-8"), np.uint8).astype(np.int64) - 48
    if not codes.size or codes.min() < 0 or codes.max() > 63 or codes[-1] & 32:
        return None
    ends = np.flatnonzero((codes & 32) == 0)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts + 1
    if lengths.max() > 7:  # more bits than a 32-bit run has
        return None
    shifts = 5 * (np.arange(codes.size) - np.repeat(starts, lengths))
    runs = np.add.reduceat((codes & 31) << shifts, starts)
    runs -= np.where(codes[ends] & 16, 1 << (5 * lengths), 0)
    runs[1::2] = np.cumsum(runs[1::2])
    runs[2::2] = np.cumsum(runs[2::2])
    return runs.tolist()
