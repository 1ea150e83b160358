"""Image files: missing, empty, truncated, of another kind, or not as the annotations say."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from csan_mm.common.findings import Finding, Severity
from csan_mm.common.picture_size import PILLOW_LIMIT, any_picture_size
from csan_mm.preflight.progress import tracked
from csan_mm.preflight.samples import Sample

THREADS = 8

#: How many pictures of a data set ``--quick`` decodes (ours).
QUICK_SAMPLE = 200

#: OpenCV's default limits (modules/imgcodecs/src/loadsave.cpp): CV_IO_MAX_IMAGE_PIXELS and _WIDTH, _HEIGHT.
_OPENCV_PIXELS, _OPENCV_SIDE = 1 << 30, 1 << 20

#: EXIF tag "orientation", and the values under which readers swap width and height.
_ORIENTATION, _TURNED = 0x0112, (5, 6, 7, 8)

#: Kinds of files, by Pillow's names, of which all loaders read the same; others are read by the loader itself.
_PLAIN = {("JPEG", "RGB"), ("JPEG", "L"), ("PNG", "RGB"), ("PNG", "L"), ("BMP", "RGB")}

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


@dataclass(frozen=True)
class Loader:
    """How a pipeline decodes a file: the arguments of ``mmcv.imfrombytes``.

    Args:
        flag: 'color' (default), 'unchanged', ...
        backend: 'cv2' (default), 'pillow', ...
    """

    flag: str = "color"
    backend: str = "cv2"

    def __call__(self, path: str) -> np.ndarray | str:
        """The decoded file, (H, W) or (H, W, channels), or why the loader cannot read it."""
        import mmcv

        try:
            pixels = mmcv.imfrombytes(Path(path).read_bytes(), flag=self.flag, backend=self.backend)
        except Exception as error:  # each decoder has errors of its own
            return " ".join(str(error).split())[:200] or type(error).__name__
        return "the decoder knows no such format" if pixels is None else pixels

    def limit(self, width: int, height: int) -> str | None:
        """Why the decoder refuses a picture of this size, or None."""
        if self.backend == "pillow" and PILLOW_LIMIT and width * height > 2 * PILLOW_LIMIT:
            return f"has {width}x{height} pixels, and the loader (Pillow) takes {2 * PILLOW_LIMIT} at most"
        if self.backend == "cv2" and (width * height > _OPENCV_PIXELS or max(width, height) > _OPENCV_SIDE):
            return f"has {width}x{height} pixels, and the loader (OpenCV) takes {_OPENCV_PIXELS} at most"
        return None


def image_loader(transforms: Iterable[Any]) -> Loader:
    """The loader that a pipeline's LoadImageFromFile uses; OpenCV's for colour where there is none.

    Args:
        transforms: The built steps of the pipeline.
    """
    for step in transforms:
        if any(kind.__name__ == "LoadImageFromFile" for kind in type(step).__mro__):
            return Loader(step.color_type, step.imdecode_backend)
    return Loader()


def check_images(samples: Iterable[Sample], where: str, loader: Loader, quick: bool = False) -> Iterator[Finding]:
    """Read the images of samples, each to its end.

    Args:
        samples: Each distinct image is read once.
        where: The data set's place in the config.
        loader: How the pipeline decodes them.
        quick: Look only whether each file exists and is not empty, and read an even choice of them. Default: False.
    """
    distinct = list({(sample.image, sample.size): sample for sample in samples}.values())
    read = {id(sample) for sample in chosen(distinct, quick)}

    def check(sample: Sample) -> list[Finding]:
        if id(sample) in read:
            return list(_check_image(sample, where, loader))
        trouble = absent(sample.image)
        return [Finding(Severity.FAULT, sample.image, trouble, CURE_FILE, where)] if trouble else []

    with any_picture_size(), ThreadPoolExecutor(THREADS) as pool:
        for found in tracked(pool.map(check, distinct), f"images of {where}", len(distinct)):
            yield from found
    if len(read) < len(distinct):
        says = f"--quick: {len(read)} of {len(distinct)} images were read, of the others only that the file is there"
        yield Finding(Severity.NOTE, where, says)


def chosen(items: Sequence[Any], quick: bool) -> Sequence[Any]:
    """All items, or with ``quick`` at most QUICK_SAMPLE at even distances."""
    step = len(items) / QUICK_SAMPLE
    return [items[int(index * step)] for index in range(QUICK_SAMPLE)] if quick and step > 1 else items


def absent(path: str) -> str | None:
    """Why there is nothing to read at a path, or None."""
    try:
        file = Path(path)
        if not file.is_file():
            return "does not exist"
        return "is empty (0 bytes)" if file.stat().st_size == 0 else None
    except (OSError, ValueError) as error:  # a name that no file can have
        return f"cannot be opened ({error})"


def unreadable(path: str, loader: Loader | None = None) -> str | None:
    """Why a file cannot be read as an image to its end, or None.

    A JPEG is decoded at an eighth of its size, which still reads all of it. What Pillow does not know, the loader is asked.

    Args:
        path: The file.
        loader: How the pipeline decodes it. Default: OpenCV, colour.
    """
    loader = loader or Loader()
    if trouble := absent(path):
        return trouble
    try:
        with any_picture_size(), Image.open(path) as image:
            if trouble := loader.limit(*image.size):
                return trouble
            plain = (image.format, image.mode) in _PLAIN
            image.draft(image.mode, (1, 1))
            image.load()
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, ValueError, struct.error, ...
        if "truncated" in str(error):
            return "is truncated"
        if not isinstance(loader(path), str):
            return None
        kinds = ("UnidentifiedImageError",)
        return "is not an image" if type(error).__name__ in kinds else f"is damaged ({error})"
    if not plain and isinstance(reason := loader(path), str):
        return f"cannot be read by the loader ({reason})"
    return None


def first_unreadable(paths: Iterable[str]) -> str | None:
    """The first of some files that is not a readable image."""
    return next((path for path in paths if unreadable(path)), None)


def picture_size(path: str, loader: Loader) -> tuple[int, int]:
    """(width, height) of a readable file as the loader gives it: turned by its EXIF tag where the loader does that."""
    try:
        with any_picture_size(), Image.open(path) as image:
            turns = loader.flag in ("color", "grayscale") and image.getexif().get(_ORIENTATION) in _TURNED
            if (image.format, image.mode) in _PLAIN and (image.format == "JPEG" or not turns):
                return image.size[::-1] if turns else image.size
    except Exception:  # as in `unreadable`: the loader has read it
        pass
    pixels = loader(path)
    return pixels.shape[1], pixels.shape[0]


def _check_image(sample: Sample, where: str, loader: Loader) -> Iterator[Finding]:
    trouble = unreadable(sample.image, loader)
    if trouble:
        yield Finding(Severity.FAULT, sample.image, trouble, CURE_FILE, where)
        return
    mode = _mode(sample.image)
    if loader.flag == "color" and mode in _MODES:
        severity, says = _MODES[mode]
        yield Finding(severity, sample.image, says, where=where)
    size = picture_size(sample.image, loader)
    if sample.size is not None and sample.size != size:
        says = f"is {size[0]}x{size[1]} and the annotations say {sample.size[0]}x{sample.size[1]}"
        yield Finding(Severity.FAULT, sample.image, says, CURE_SIZE, where)


def _mode(path: str) -> str | None:
    try:
        with any_picture_size(), Image.open(path) as image:
            return "I;16" if image.mode.startswith("I;16") else image.mode
    except Exception:  # as in `unreadable`
        return None
