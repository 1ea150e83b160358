"""Non-maximum suppression, hard and soft, as ``mmcv.ops.nms`` calls it."""

import numpy as np
import torch
import torchvision
from torch import Tensor

from csan_mm.ops.ext.dtypes import computable

# mmcv's codes of the soft-NMS methods
NAIVE, LINEAR, GAUSSIAN = 0, 1, 2


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, offset: int) -> Tensor:
    """Keep the boxes that overlap no better one by more than a threshold.

    Args:
        boxes: (N, 4) as x1, y1, x2, y2.
        scores: (N,).
        iou_threshold: A box goes when its IoU with a kept, better one is above this.
        offset: 0, or 1 where a box's width is x2 - x1 + 1.

    Returns:
        Indices of the kept boxes, best first.
    """
    boxes, scores = computable(boxes, scores)
    if offset:
        boxes = torch.cat((boxes[:, :2], boxes[:, 2:] + offset), dim=1)
    if boxes.dtype == torch.float32:
        # mmcv compares in float32. In double the threshold 0.6 lies below an IoU of 3/5 in float32, and would drop the box.
        iou_threshold = float(np.float32(iou_threshold))
    return torchvision.ops.nms(boxes, scores, iou_threshold)


def softnms(
    boxes: Tensor,
    scores: Tensor,
    dets: Tensor,
    iou_threshold: float,
    sigma: float,
    min_score: float,
    method: int,
    offset: int,
) -> Tensor:
    """Take the best box again and again, each time lowering the scores of those that overlap it (Bodla et al., arXiv:1704.04503).

    A score is multiplied by 0 (naive) or 1 - IoU (linear) from the threshold on, or by exp(-IoU^2 / sigma) (gaussian). A box
    whose score falls below ``min_score`` is dropped. Two boxes without area have IoU 0. Of equal scores the first in the
    input goes first.

    Args:
        boxes: (N, 4) on the CPU, as x1, y1, x2, y2.
        scores: (N,) on the CPU.
        dets: (N, 5) on the CPU. Its first rows are set to the boxes in the order taken, with their lowered scores.
        iou_threshold: From which IoU on a score is lowered; not used by gaussian.
        sigma: Width of the gaussian.
        min_score: Score under which a box is dropped; the best one stays in any case, as with mmcv.
        method: 0 naive, 1 linear, 2 gaussian.
        offset: 0, or 1 where a box's width is x2 - x1 + 1.

    Returns:
        Indices of the boxes taken, as many as rows of ``dets`` were set.
    """
    box, score = (t.numpy() for t in computable(boxes, scores))
    left, taken = np.arange(len(box)), []
    while left.size:
        best = left[score.argmax()]
        taken.append((best, score.max()))
        score, left = score[left != best], left[left != best]
        score = score * _decay(_iou(box[best], box[left], offset), iou_threshold, sigma, method)
        score, left = score[score >= min_score], left[score >= min_score]

    inds = torch.tensor([index for index, _ in taken], dtype=torch.long)
    final = torch.tensor([float(value) for _, value in taken], dtype=dets.dtype)
    dets[: len(inds)] = torch.cat((boxes.detach()[inds].to(dets), final[:, None]), dim=1)
    return inds


def _decay(iou: np.ndarray, iou_threshold: float, sigma: float, method: int) -> np.ndarray:
    if method == GAUSSIAN:
        return np.exp(-iou * iou / sigma)
    return np.where(iou >= iou_threshold, 0 if method == NAIVE else 1 - iou, 1).astype(iou.dtype)


def _iou(one: np.ndarray, many: np.ndarray, offset: int) -> np.ndarray:
    """IoU of one box (4,) with many (M, 4)."""
    low, high = np.maximum(one[:2], many[:, :2]), np.minimum(one[2:], many[:, 2:])
    inter = np.clip(high - low + offset, 0, None).prod(axis=1)
    union = (one[2:] - one[:2] + offset).prod() + (many[:, 2:] - many[:, :2] + offset).prod(axis=1) - inter
    return np.divide(inter, union, out=np.zeros_like(inter), where=union > 0)
