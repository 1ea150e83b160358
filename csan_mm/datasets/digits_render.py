"""Pixels of the digits data set: a photograph's crop, a digit's shape, its colour, and pasting one on the other."""

from __future__ import annotations

import numpy as np
from PIL import Image

TRAIN_SHARE = 0.625  # training crops come from the left 400 of 640 photo columns, validation crops from the others
CROP_SCALE = (0.3, 0.9)  # side of a crop, as a share of the largest crop that fits
BRIGHTNESS = (0.6, 1.0)
ROTATION = 12.0  # degrees either way: far from turning a 6 into a 9
ASPECT = (0.75, 1.0)  # width over height of the digit's 8 x 8 cell
CONTRAST = (100.0, 150.0)  # luminance distance between a digit and what lies under it, out of 255
EDGE = (0.30, 0.55)  # ink at which a pixel starts to cover, and at which it covers fully
LUMINANCE = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # ITU-R BT.601


def background(photo: np.ndarray, split: str, size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Cut a random crop out of the split's part of a photograph and scale it to the image size.

    Args:
        photo: (h, w, 3) uint8.
        split: 'train' takes the left part of the photograph, 'val' the right one; they share no pixel.
        size: Height and width of the result in pixels.
        rng: Source of the position, scale, flip and brightness.

    Returns:
        (H, W, 3) float32 in 0 to 255.
    """
    border = round(photo.shape[1] * TRAIN_SHARE)
    region = photo[:, :border] if split == "train" else photo[:, border:]
    scale = min(region.shape[0] / size[0], region.shape[1] / size[1]) * rng.uniform(*CROP_SCALE)
    height, width = (max(1, min(limit, round(side * scale))) for side, limit in zip(size, region.shape))
    top = int(rng.integers(region.shape[0] - height + 1))
    left = int(rng.integers(region.shape[1] - width + 1))
    crop = Image.fromarray(region[top : top + height, left : left + width])
    pixels = np.asarray(crop.resize(size[::-1], Image.Resampling.BICUBIC), dtype=np.float32)
    if rng.random() < 0.5:
        pixels = pixels[:, ::-1]
    return pixels * np.float32(rng.uniform(*BRIGHTNESS))


def digit_alpha(ink: np.ndarray, side: int, rng: np.random.Generator) -> np.ndarray:
    """Scale an 8 x 8 digit up smoothly, turn it a little, and return how much each pixel covers.

    Args:
        ink: (8, 8) uint8, 0 for paper and 255 for full ink.
        side: Height in pixels of the digit's 8 x 8 cell before it is turned.
        rng: Source of the aspect ratio and the angle.

    Returns:
        (h, w) float32 in 0 to 1, without empty rows and columns around. Where it is at least 0.5 the pixel belongs to
        the digit.
    """
    cell = Image.fromarray(np.pad(ink, 1))  # a rim of paper, since strokes touch the border of the cell
    height = round(side * 10 / 8)
    width = max(1, round(height * rng.uniform(*ASPECT)))
    cell = cell.resize((width, height), Image.Resampling.BICUBIC)
    cell = cell.rotate(rng.uniform(-ROTATION, ROTATION), Image.Resampling.BICUBIC, expand=True)
    alpha = np.clip((np.asarray(cell, dtype=np.float32) / 255 - EDGE[0]) / (EDGE[1] - EDGE[0]), 0, 1)
    rows, columns = np.flatnonzero(alpha.any(1)), np.flatnonzero(alpha.any(0))
    return alpha[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def readable_colour(under: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a random colour whose luminance is far from that of the pixels a digit will cover.

    Args:
        under: (n, 3) float32 pixels in 0 to 255, n at least 1.
        rng: Source of the hue and the distance.

    Returns:
        (3,) float32 in 0 to 255.
    """
    below = float((under @ LUMINANCE).mean())
    distance = rng.uniform(*CONTRAST)
    target = below + distance if below < 128 else below - distance
    tint = rng.uniform(-90, 90, 3).astype(np.float32)
    tint -= tint @ LUMINANCE  # the weights sum to 1: the tint no longer changes the luminance
    return np.clip(np.float32(target) + tint, 0, 255)


def paste(canvas: np.ndarray, alpha: np.ndarray, top: int, left: int, rng: np.random.Generator) -> None:
    """Blend a digit in a readable colour over ``canvas`` (H, W, 3) in place, its corner at ``(top, left)``."""
    patch = canvas[top : top + alpha.shape[0], left : left + alpha.shape[1]]
    colour = readable_colour(patch[alpha >= 0.5], rng)
    patch += alpha[..., None] * (colour - patch)
