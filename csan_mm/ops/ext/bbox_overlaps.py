"""How far boxes overlap, as ``mmcv.ops.bbox_overlaps`` calls it."""

import torch
from torch import Tensor

from csan_mm.ops.ext.dtypes import computable

IOU, IOF = 0, 1  # mmcv's codes of the modes


def bbox_overlaps(
    bboxes1: Tensor, bboxes2: Tensor, ious: Tensor, mode: int, aligned: bool = False, offset: int = 0
) -> None:
    """Set ``ious`` to the shared area of boxes over that of their union, or over that of the first ones.

    torchvision's ``box_iou`` knows neither ``offset`` nor the area of the first ones, nor pairs. Two boxes without area give
    NaN, as with mmcv.

    Args:
        bboxes1: (m, 4) as x1, y1, x2, y2.
        bboxes2: (n, 4); n = m if ``aligned``.
        ious: (m, n), or (m,) if ``aligned``; set.
        mode: 0: over the union; 1: over the first boxes (intersection over foreground).
        aligned: Compare the boxes of the same number alone. Default: False, each with each.
        offset: 0, or 1 where a box's width is x2 - x1 + 1. Default: 0.
    """
    first, second = computable(bboxes1, bboxes2)
    if not aligned:
        first = first[:, None]
    low, high = torch.maximum(first[..., :2], second[..., :2]), torch.minimum(first[..., 2:], second[..., 2:])
    shared = (high - low + offset).clamp(min=0).prod(dim=-1)
    whole = _area(first, offset)
    if mode == IOU:
        whole = whole + _area(second, offset) - shared
    ious.copy_(shared / whole)


def _area(boxes: Tensor, offset: int) -> Tensor:
    return (boxes[..., 2:] - boxes[..., :2] + offset).prod(dim=-1)
