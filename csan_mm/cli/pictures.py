"""Reading pictures as people have them: grey, palette, transparent, 16 bits a pixel, turned by their EXIF tag."""

import os
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from csan_mm.common.errors import ArgumentError
from csan_mm.common.picture_size import any_picture_size

SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
VIDEO_SUFFIXES = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv")


class UnreadableImageError(ArgumentError):
    """A file that is not an image, or a damaged one; the message names it."""


def find_images(paths: list[str]) -> list[tuple[Path, Path]]:
    """Image and video files in the order given, a folder's sorted, each with a name of its own.

    Args:
        paths: Files and folders; folders are searched to the bottom for the usual suffixes.

    Returns:
        File and name: below the folder it came from, or, where two would have one name, below the folder all have in common. A
        file given twice is there once.

    Raises:
        FileNotFoundError: A path does not exist, or no path holds an image.
    """
    found: dict[Path, tuple[Path, Path]] = {}
    for path in map(Path, paths):
        if path.is_dir():
            wanted = (*SUFFIXES, *VIDEO_SUFFIXES)
            for file in sorted(path.rglob("*")):
                if file.suffix.lower() in wanted and file.is_file():
                    found.setdefault(file.resolve(), (file, file.relative_to(path)))
        elif path.is_file():
            found.setdefault(path.resolve(), (path, Path(path.name)))
        else:
            raise FileNotFoundError(f"image {path} does not exist: check the path")
    if not found:
        raise FileNotFoundError(f"no image in {', '.join(paths)}: looked for {', '.join(SUFFIXES)}")
    if len({name for _, name in found.values()}) < len(found):
        shared = os.path.commonpath([whole.parent for whole in found])
        return [(file, whole.relative_to(shared)) for whole, (file, _) in found.items()]
    return list(found.values())


def read_image(path: Path) -> np.ndarray:
    """An image as (H, W, 3) uint8 in OpenCV's channel order, upright.

    Grey becomes three equal channels; transparency is laid over white; 16 and 32 bits a pixel are scaled by the format's range
    (floating point by the picture's own).

    Raises:
        UnreadableImageError: The file is not an image, or ends early.
    """
    try:
        with any_picture_size(), Image.open(path) as image:
            image = ImageOps.exif_transpose(image)
            return np.ascontiguousarray(_rgb(image)[:, :, ::-1])
    except (OSError, SyntaxError, ValueError, UnidentifiedImageError) as error:
        raise UnreadableImageError(f"{path} is not a readable image ({error})") from error


def _rgb(image: Image.Image) -> np.ndarray:
    if image.mode.startswith(("I", "F")):
        values = np.asarray(image, dtype=np.float64)
        low, high = (values.min(), values.max()) if image.mode == "F" else (0.0, 65535.0)
        grey = np.clip((values - low) / max(high - low, 1e-12) * 255, 0, 255).round().astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return np.asarray(image.convert("RGB"))
