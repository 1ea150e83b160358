"""The digits generator: scikit-learn's handwritten digits on crops of scikit-learn's photographs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from csan_mm.common.errors import ArgumentError
from csan_mm.common.install import install_command

from .digits_layout import Placed, place_digits, tight_box, visible_masks
from .digits_render import background, paste
from .digits_spec import DIGITS_CLASSES, SPLITS, DigitsSpec

VAL_SHARE = 0.2  # 359 of the 1,797 digits are kept for validation
CROP_FILL = (0.5, 0.8)  # height of the one digit of a classification image, over the shorter image side
TRIES = 20  # layouts tried for one image

# First entry of a stream's spawn key: what the stream is for.
_POOL_STREAM, _SCENE_STREAM, _CROP_STREAM = 0, 1, 2


class Sources(NamedTuple):
    """What scikit-learn ships: ink (1797, 8, 8) uint8, labels (1797,) int64, and the photographs (h, w, 3) uint8."""

    ink: np.ndarray
    labels: np.ndarray
    photos: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Instance:
    """One digit of an image.

    Args:
        label: Class index, 0 to 9.
        source: Index of the handwritten digit among scikit-learn's 1,797.
        mask: (H, W) bool, the pixels in which the digit is seen.
    """

    label: int
    source: int
    mask: np.ndarray

    @property
    def box(self) -> tuple[int, int, int, int]:
        """The smallest box around the visible pixels: x and y of the corner, width, height."""
        return tight_box(self.mask)


@dataclass(frozen=True)
class Scene:
    """An image, (H, W, 3) uint8 RGB, and its digits in the order they were pasted."""

    image: np.ndarray
    instances: tuple[Instance, ...]

    @property
    def label_map(self) -> np.ndarray:
        """The semantic segmentation, (H, W) uint8: 0 for the photograph, 1 + class index for a digit."""
        labels = np.zeros(self.image.shape[:2], dtype=np.uint8)
        for instance in self.instances:
            labels[instance.mask] = instance.label + 1
        return labels


@lru_cache(maxsize=1)
def load_sources() -> Sources:
    """Read the digits and photographs that lie inside the scikit-learn package; nothing is downloaded.

    Raises:
        ImportError: If scikit-learn is missing; names the extra to install.
    """
    try:
        from sklearn.datasets import load_digits, load_sample_images
    except ImportError as error:
        raise ImportError(f"the digits data set needs scikit-learn: {install_command('digits')}") from error
    digits = load_digits()
    ink = np.round(digits.images * (255 / 16)).astype(np.uint8)  # 0..16 -> 0..255
    return Sources(ink, digits.target, tuple(load_sample_images().images))


class DigitsGenerator:
    """Draws the images of a digits data set, each from its own random stream.

    Image ``i`` comes from a PCG64 generator seeded with (seed, purpose, split, i), so it depends neither on the number
    of images nor on the order in which they are drawn.

    Args:
        spec: The options.

    Raises:
        ValueError: ``spec`` is no DigitsSpec.
        ImportError: If scikit-learn is missing.

    Example:
        >>> scene = DigitsGenerator(DigitsSpec(seed=1)).scene('train', 0)
        >>> scene.image.shape
        (128, 128, 3)
    """

    def __init__(self, spec: DigitsSpec) -> None:
        if not isinstance(spec, DigitsSpec):
            raise ArgumentError(f"spec={spec!r} is not a DigitsSpec: take DigitsSpec(...)")
        self.spec = spec
        self.sources = load_sources()
        order = self._rng(_POOL_STREAM).permutation(len(self.sources.labels))
        val_size = int(len(order) * VAL_SHARE)
        self._pools = {"train": np.sort(order[val_size:]), "val": np.sort(order[:val_size])}

    def pool(self, split: str) -> np.ndarray:
        """Return the source indices that ``split`` ('train' or 'val') draws from; the two pools are disjoint."""
        return self._pools[split]

    def scene(self, split: str, index: int) -> Scene:
        """Draw image ``index`` of the COCO and ADE20K forms.

        Args:
            split: 'train' or 'val'.
            index: Number of the image, from 0.

        Raises:
            ValueError: If so many digits of this size find no place in the image; names what to change.
        """
        spec = self.spec
        rng = self._rng(_SCENE_STREAM, split, index)
        canvas = self._background(split, rng)
        low, high = spec.digits_per_image
        count = 0 if rng.random() < spec.empty_fraction else int(rng.integers(low, high + 1))
        for _ in range(TRIES):
            sources = _draw_from(self.pool(split), count, rng)
            placed = place_digits(self.sources.ink, sources, spec.digit_side, spec.image_size, rng)
            if placed is not None:
                return self._compose(canvas, placed, rng)
        raise ArgumentError(
            f"digits_per_image {low} to {high} with digit_side {spec.digit_side[0]} to {spec.digit_side[1]} does not "
            f"fit into image_size {spec.image_size[0]}x{spec.image_size[1]}: use fewer or smaller digits"
        )

    def crop(self, split: str, index: int) -> Scene:
        """Draw image ``index`` of the ImageNet form: one large digit, of class ``index % 10``."""
        rng = self._rng(_CROP_STREAM, split, index)
        pool = self.pool(split)
        sources = _draw_from(pool[self.sources.labels[pool] == index % len(DIGITS_CLASSES)], 1, rng)
        canvas = self._background(split, rng)
        side_range = tuple(round(min(self.spec.image_size) * fill) for fill in CROP_FILL)
        placed = place_digits(self.sources.ink, sources, side_range, self.spec.image_size, rng)
        return self._compose(canvas, placed, rng)

    def _rng(self, *key: int | str) -> np.random.Generator:
        numbers = tuple(SPLITS.index(part) if isinstance(part, str) else part for part in key)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.spec.seed, spawn_key=numbers)))

    def _background(self, split: str, rng: np.random.Generator) -> np.ndarray:
        photos = self.sources.photos
        return background(photos[int(rng.integers(len(photos)))], split, self.spec.image_size, rng)

    def _compose(self, canvas: np.ndarray, placed: Sequence[Placed], rng: np.random.Generator) -> Scene:
        for digit in placed:
            paste(canvas, digit.alpha, digit.top, digit.left, rng)
        instances = tuple(
            Instance(int(self.sources.labels[digit.source]), digit.source, mask)
            for digit, mask in zip(placed, visible_masks(placed, self.spec.image_size))
        )
        return Scene(np.round(canvas).astype(np.uint8), instances)


def _draw_from(pool: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    return pool[rng.integers(len(pool), size=count)]
