"""Pillow's limit of picture sizes, lifted where the loaders of a training have none."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image

#: Above twice this many pixels ``Image.open`` refuses a picture (Pillow's own setting, as it is before it is lifted).
PILLOW_LIMIT = Image.MAX_IMAGE_PIXELS

_lock = threading.Lock()
_users = 0
_limit = PILLOW_LIMIT


@contextmanager
def any_picture_size() -> Iterator[None]:
    """Open pictures of any size with Pillow, in all threads, until the last one leaves this context.

    Pillow takes more than 89 megapixels for an attack, warns, and refuses twice as many; OpenCV, which reads the pictures of a
    training, takes up to 2**30.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = Image.MAX_IMAGE_PIXELS
            Image.MAX_IMAGE_PIXELS = None
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                Image.MAX_IMAGE_PIXELS = _limit
