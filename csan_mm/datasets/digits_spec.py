"""What a digits data set is made of: its options, its classes and their colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from csan_mm.common.errors import ArgumentError

SPLITS = ("train", "val")

DIGITS_CLASSES = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
"""Class names in label order; the COCO category ids are 1 to 10 in the same order."""

DIGITS_PALETTE = [
    [230, 25, 75],
    [60, 180, 75],
    [255, 225, 25],
    [0, 130, 200],
    [245, 130, 48],
    [145, 30, 180],
    [70, 240, 240],
    [240, 50, 230],
    [210, 245, 60],
    [250, 190, 190],
]
"""One RGB colour per class, for pictures of boxes and masks."""

DIGITS_METAINFO = {"classes": DIGITS_CLASSES, "palette": DIGITS_PALETTE}
"""``metainfo`` for mmdet's ``CocoDataset`` on the COCO form and mmpretrain's ``CustomDataset`` on the ImageNet form."""

DIGITS_SEG_METAINFO = {"classes": ("background", *DIGITS_CLASSES), "palette": [[0, 0, 0], *DIGITS_PALETTE]}
"""``metainfo`` for mmseg's ``BaseSegDataset`` on the ADE20K form: 11 classes, label 0 is the photograph."""

MIN_IMAGE_SIDE = 32
MIN_DIGIT_SIDE = 8  # the handwriting has 8 x 8 pixels: below that it would be thinned, not scaled


@dataclass(frozen=True)
class DigitsSpec:
    """The options that decide every byte of a digits data set.

    Two equal specs give the same files. Image ``i`` of a split depends on all fields but the two counts, so a larger
    data set begins with the smaller one.

    Args:
        train_count: Number of training images, at least 1.
        val_count: Number of validation images, at least 1.
        image_size: Height and width in pixels, or one number for both; at least 32 each.
        digits_per_image: Least and greatest number of digits in an image of the COCO and ADE20K forms.
        digit_side: Least and greatest digit height in pixels in the COCO and ADE20K forms, at least 8. ``None``: 3/16
            and 7/16 of the shorter image side, which is (24, 56) at 128 pixels.
        empty_fraction: Probability that an image of the COCO and ADE20K forms has no digit at all, 0 to 1.
        seed: Non-negative seed of everything that is drawn.

    Raises:
        ValueError: If an argument is out of range; names the argument, what it got and what would do.
    """

    train_count: int = 600
    val_count: int = 150
    image_size: int | tuple[int, int] = (128, 128)
    digits_per_image: tuple[int, int] = (1, 4)
    digit_side: tuple[int, int] | None = None
    empty_fraction: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        _check_integer("train_count", self.train_count, 1)
        _check_integer("val_count", self.val_count, 1)
        _check_integer("seed", self.seed, 0)
        size = self.image_size if isinstance(self.image_size, Sequence) else (self.image_size, self.image_size)
        height, width = self._set("image_size", _integer_pair("image_size", size, MIN_IMAGE_SIDE))
        self._set("digits_per_image", _range("digits_per_image", self.digits_per_image, 1))
        shorter = min(height, width)
        side = self.digit_side
        if side is None:
            side = (max(MIN_DIGIT_SIDE, shorter * 3 // 16), shorter * 7 // 16)
        side = self._set("digit_side", _range("digit_side", side, MIN_DIGIT_SIDE))
        if side[1] > shorter // 2:
            raise ArgumentError(
                f"digit_side goes up to {side[1]} pixels; in {height}x{width} images at most {shorter // 2} would do"
            )
        if isinstance(self.empty_fraction, bool) or not isinstance(self.empty_fraction, (int, float)):
            raise ArgumentError(f"empty_fraction must be a number from 0 to 1, got {self.empty_fraction!r}")
        if not 0 <= self.empty_fraction <= 1:
            raise ArgumentError(f"empty_fraction must lie between 0 and 1, got {self.empty_fraction}")
        self._set("empty_fraction", float(self.empty_fraction))

    def _set(self, name: str, value: Any) -> Any:
        object.__setattr__(self, name, value)  # the normalised value of a frozen field
        return value

    def count(self, split: str) -> int:
        """Return the number of images in ``split`` ('train' or 'val')."""
        return {"train": self.train_count, "val": self.val_count}[split]

    def to_dict(self) -> dict[str, Any]:
        """Return the options as JSON would give them back (lists for pairs)."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def spec_difference(existing: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Name the options in which two specs differ, such as ``'seed is 0, asked for 1'``; empty if none.

    Args:
        existing: ``DigitsSpec.to_dict()`` of the data set that is there.
        wanted: ``DigitsSpec.to_dict()`` of the one asked for.
    """
    names = sorted(set(existing) | set(wanted))
    return ", ".join(
        f"{name} is {existing.get(name)}, asked for {wanted.get(name)}"
        for name in names
        if existing.get(name) != wanted.get(name)
    )


def _check_integer(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ArgumentError(f"{name} must be at least {least}, got {value}")
    return value


def _integer_pair(name: str, value: Any, least: int) -> tuple[int, int]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise ArgumentError(f"{name} must be two whole numbers, got {value!r}")
    return _check_integer(name, value[0], least), _check_integer(name, value[1], least)


def _range(name: str, value: Any, least: int) -> tuple[int, int]:
    low, high = _integer_pair(name, value, least)
    if low > high:
        raise ArgumentError(f"{name} must be (least, greatest), got ({low}, {high})")
    return low, high
