"""Sizes that images are resized to in training, from the sizes they have. The rules are ours."""

import math
from collections.abc import Sequence
from statistics import median

#: COCO's recipes enlarge its common images, 640 x 427, to a short side of 800.
_COCO_FACTOR = 800 / 427


def median_size(sizes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """(long side, short side) of the middle image."""
    return round(median(map(max, sizes))), round(median(map(min, sizes)))


def detection_scale(sizes: Sequence[tuple[int, int]], largest: tuple[int, int]) -> tuple[int, int]:
    """(long, short) that images are resized to fit into.

    The recipe's own for images like COCO's and larger ones; for smaller ones less, so that they are enlarged as much as COCO's
    are and no more; for panoramas the long side is kept.

    Args:
        sizes: (width, height) of the images.
        largest: The recipe's scale, (1333, 800).
    """
    long, short = median_size(sizes)
    fitted = min(largest[1], _up_to_32(short * _COCO_FACTOR))
    if fitted == largest[1]:
        return largest
    return min(largest[0], max(_up_to_32(fitted * largest[0] / largest[1]), _up_to_32(long))), fitted


def crop_side(sizes: Sequence[tuple[int, int]], largest: int) -> int:
    """The side of the square crops of a segmentor, and the short side images are resized to before.

    Args:
        sizes: (width, height) of the images.
        largest: The recipe's, 512.
    """
    return min(largest, _up_to_32(median_size(sizes)[1]))


def _up_to_32(side: float) -> int:
    """A multiple of 32, to which models pad anyway."""
    return math.ceil(side / 32) * 32
