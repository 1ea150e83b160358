"""Where the digits of an image go: inside it, and never much over one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .digits_render import digit_alpha

MIN_VISIBLE = 0.75  # share of a digit's pixels that later digits leave in sight
MAX_BOX_IOU = 0.3  # well under the 0.5 at which non-maximum suppression would merge two boxes
TRIES = 30  # positions and sizes tried for one digit


class Placed(NamedTuple):
    """A digit with its place: source index, coverage (h, w) float32, and the corner's row and column."""

    source: int
    alpha: np.ndarray
    top: int
    left: int

    def mask(self, size: tuple[int, int]) -> np.ndarray:
        """Return the digit's pixels, seen or hidden, as (H, W) bool for an image of ``size`` (H, W)."""
        mask = np.zeros(size, dtype=bool)
        height, width = self.alpha.shape
        mask[self.top : self.top + height, self.left : self.left + width] = self.alpha >= 0.5
        return mask


def tight_box(mask: np.ndarray) -> tuple[int, int, int, int]:
    """Return x, y of the corner, width and height of the smallest box around a non-empty (H, W) bool mask."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return (
        int(columns[0]),
        int(rows[0]),
        int(columns[-1] - columns[0] + 1),
        int(rows[-1] - rows[0] + 1),
    )


def place_digits(
    ink: np.ndarray,
    sources: Sequence[int],
    side_range: tuple[int, int],
    size: tuple[int, int],
    rng: np.random.Generator,
) -> list[Placed] | None:
    """Find a place for every digit, one after the other; a later digit lies over an earlier one.

    Args:
        ink: (n, 8, 8) uint8, all handwritten digits.
        sources: Indices of the digits to place, bottom first.
        side_range: Least and greatest digit height in pixels.
        size: Height and width of the image.
        rng: Source of sizes, shapes and positions.

    Returns:
        The digits in the order of ``sources``, or ``None`` if one of them found no place.
    """
    placed: list[Placed] = []
    masks: list[np.ndarray] = []  # whole digits, (H, W) bool
    for source in sources:
        for _ in range(TRIES):
            candidate = _draw(ink[source], int(source), side_range, size, rng)
            if candidate is not None and _leaves_visible(masks, candidate.mask(size)):
                break
        else:
            return None
        placed.append(candidate)
        masks.append(candidate.mask(size))
    return placed


def visible_masks(placed: Sequence[Placed], size: tuple[int, int]) -> list[np.ndarray]:
    """Return the pixels in which each digit is seen, (H, W) bool each; no two overlap."""
    free = np.ones(size, dtype=bool)
    visible = []
    for digit in reversed(placed):  # from the top down
        mask = digit.mask(size)
        visible.append(mask & free)
        free &= ~mask
    return visible[::-1]


def _draw(
    ink: np.ndarray, source: int, side_range: tuple[int, int], size: tuple[int, int], rng: np.random.Generator
) -> Placed | None:
    side = int(rng.integers(side_range[0], side_range[1] + 1))
    alpha = digit_alpha(ink, side, rng)
    room = (size[0] - alpha.shape[0], size[1] - alpha.shape[1])
    if min(room) < 0:
        return None
    return Placed(source, alpha, int(rng.integers(room[0] + 1)), int(rng.integers(room[1] + 1)))


def _leaves_visible(below: list[np.ndarray], new: np.ndarray) -> bool:
    """Tell whether ``new`` over the digits ``below`` keeps all of them recognisable and the boxes apart."""
    hidden = new.copy()
    for mask in reversed(below):
        if np.count_nonzero(mask & ~hidden) < MIN_VISIBLE * np.count_nonzero(mask):
            return False
        if _box_iou(tight_box(mask), tight_box(new)) > MAX_BOX_IOU:
            return False
        hidden |= mask
    return True


def _box_iou(first: tuple[int, int, int, int], second: tuple[int, int, int, int]) -> float:
    """Intersection over union of two (x, y, width, height) boxes."""
    width = min(first[0] + first[2], second[0] + second[2]) - max(first[0], second[0])
    height = min(first[1] + first[3], second[1] + second[3]) - max(first[1], second[1])
    shared = max(0, width) * max(0, height)
    return shared / (first[2] * first[3] + second[2] * second[3] - shared)
