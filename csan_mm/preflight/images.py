"""Image files: missing, empty, truncated, of another kind, or not as the annotations say."""

import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from csan_mm.common.findings import Finding, Severity
from csan_mm.preflight.samples import Sample

THREADS = 8

#: EXIF tag "orientation", and the values under which readers swap width and height.
_ORIENTATION, _TURNED = 0x0112, (5, 6, 7, 8)

CURE_FILE = "restore the file, or take it out of the annotations"
CURE_SIZE = "correct width and height in the annotations, and boxes and masks with them"

#: Modes of PIL that are not 8-bit RGB: what training makes of them.
_MODES = {
    "1": (Severity.NOTE, "is black and white: read as grey in three equal channels"),
    "L": (Severity.NOTE, "is grey: read as three equal channels"),
    "P": (Severity.NOTE, "has a colour palette: read as RGB"),
    "LA": (Severity.WARNING, "is grey with transparency: transparent pixels show the colour hidden below"),
    "PA": (Severity.WARNING, "has a palette with transparency: transparent pixels show the colour hidden below"),
    "RGBA": (Severity.WARNING, "has transparency (RGBA): transparent pixels show the colour hidden below"),
    "CMYK": (Severity.WARNING, "is CMYK: readers convert it to RGB differently"),
    "I;16": (Severity.WARNING, "has 16 bits a pixel: cut to 8 bits on reading"),
    "I": (Severity.WARNING, "has 32 bits a pixel: cut to 8 bits on reading"),
    "F": (Severity.WARNING, "has floating-point pixels: cut to 8 bits on reading"),
}


def check_images(samples: Iterable[Sample], where: str) -> Iterator[Finding]:
    """Read the images of samples, each to its end.

    Args:
        samples: Each distinct image is read once.
        where: The data set's place in the config.
    """
    distinct = {sample.image: sample for sample in samples}.values()
    with ThreadPoolExecutor(THREADS) as pool:
        for found in pool.map(lambda sample: list(_check_image(sample, where)), distinct):
            yield from found


def unreadable(path: str) -> str | None:
    """Why a file cannot be read as an image to its end, or None.

    A JPEG is decoded at an eighth of its size, which still reads all of it.
    """
    file = Path(path)
    if not file.is_file():
        return "does not exist"
    if file.stat().st_size == 0:
        return "is empty (0 bytes)"
    try:
        with warnings.catch_warnings(), Image.open(file) as image:
            warnings.simplefilter("ignore")
            image.draft(image.mode, (1, 1))
            image.load()
    except UnidentifiedImageError:
        return "is not an image"
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return "is truncated" if "truncated" in str(error) else f"is damaged ({error})"
    return None


def first_unreadable(paths: Iterable[str]) -> str | None:
    """The first of some files that is no readable image."""
    return next((path for path in paths if unreadable(path)), None)


def _check_image(sample: Sample, where: str) -> Iterator[Finding]:
    trouble = unreadable(sample.image)
    if trouble:
        yield Finding(Severity.FAULT, sample.image, trouble, CURE_FILE, where)
        return
    with Image.open(sample.image) as image:
        mode, size = image.mode, image.size
        turned = image.getexif().get(_ORIENTATION) in _TURNED
    if mode.startswith("I;16"):
        mode = "I;16"
    if mode in _MODES:
        severity, says = _MODES[mode]
        yield Finding(severity, sample.image, says, where=where)
    size = size[::-1] if turned else size
    if sample.size is not None and sample.size != size:
        says = f"is {size[0]}x{size[1]} and the annotations say {sample.size[0]}x{sample.size[1]}"
        yield Finding(Severity.FAULT, sample.image, says, CURE_SIZE, where)
