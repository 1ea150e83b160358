"""What label maps hold: the values that stand for classes, their colours, the sizes."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from csan_mm.common.errors import UserError
from csan_mm.common.picture_size import any_picture_size
from csan_mm.preflight.images import THREADS
from csan_mm.preflight.progress import tracked

Colour = tuple[int, int, int]

#: mmseg reads 8 bits, and this value means "ignored".
IGNORED = 255

_CURE = "write PNGs of one channel whose values are class indices, 0, 1, 2, ..."


@dataclass(frozen=True)
class Masks:
    """What all label maps hold together.

    Args:
        values: The values of pixels, without 255, sorted.
        palette: The colours that the files give to the values 0, 1, ...; None where they have none, or several.
        sizes: (width, height) of each.
    """

    values: tuple[int, ...]
    palette: tuple[Colour, ...] | None
    sizes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Mask:
    values: frozenset[int]
    palette: tuple[Colour, ...] | None
    size: tuple[int, int]


def read_masks(paths: Sequence[Path]) -> Masks:
    """Read all label maps.

    Raises:
        UserError: One cannot be read, is a colour picture, or has values that 8 bits do not hold; all are black and white.
    """
    with any_picture_size(), ThreadPoolExecutor(THREADS) as pool:
        masks = list(tracked(pool.map(_read, paths), "label maps", len(paths)))
    values = frozenset().union(*(mask.values for mask in masks))
    if values == {0, IGNORED}:
        raise UserError(
            f"the label maps, such as {paths[0]}, hold 0 and 255 alone, and {IGNORED} means ignored: write 1 in its place"
        )
    palettes = {mask.palette for mask in masks}
    palette = palettes.pop() if len(palettes) == 1 else None
    return Masks(tuple(sorted(values - {IGNORED})), palette, tuple(mask.size for mask in masks))


def _read(path: Path) -> _Mask:
    """As mmseg's LoadAnnotations does, by Pillow and without conversion."""
    try:
        with Image.open(path) as image:
            pixels, palette, size = np.array(image), image.getpalette("RGB"), image.size
    except (OSError, UnidentifiedImageError) as error:
        raise UserError(f"label map {path} cannot be read ({error}): restore the file") from error
    if pixels.ndim != 2:
        raise UserError(f"label map {path} is a colour picture ({pixels.shape[-1]} channels): {_CURE}")
    values = np.unique(pixels)
    if values.min() < 0 or values.max() > IGNORED:
        raise UserError(f"label map {path} has the value {values.max()}, which 8 bits do not hold: {_CURE}")
    colours = tuple(zip(*(iter(palette),) * 3)) if palette and image.mode == "P" else None
    return _Mask(frozenset(values.astype(int).tolist()), colours, size)
