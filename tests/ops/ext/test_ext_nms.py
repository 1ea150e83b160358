"""Hard and soft NMS against loops over boxes."""

import math

import numpy as np
import pytest
import torch
from mmcv.ops import batched_nms, nms, soft_nms


def random_boxes(n: int, seed: int = 0, size: float = 60.0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    corner = torch.rand(n, 2, generator=generator) * size
    extent = 1 + torch.rand(n, 2, generator=generator) * size / 2
    return torch.cat((corner, corner + extent), 1), torch.rand(n, generator=generator)


def iou(a: list[float], b: list[float], offset: int) -> float:
    def area(box):
        return (box[2] - box[0] + offset) * (box[3] - box[1] + offset)

    width = min(a[2], b[2]) - max(a[0], b[0]) + offset
    height = min(a[3], b[3]) - max(a[1], b[1]) + offset
    inter = max(width, 0) * max(height, 0)
    union = area(a) + area(b) - inter
    return inter / union if union > 0 else 0.0


def naive_nms(boxes, scores, threshold: float, offset: int) -> list[int]:
    boxes, kept = boxes.tolist(), []
    for i in scores.argsort(descending=True, stable=True).tolist():
        if all(iou(boxes[i], boxes[j], offset) <= threshold for j in kept):
            kept.append(i)
    return kept


def naive_soft_nms(boxes, scores, threshold, sigma, min_score, method, offset) -> tuple[list[int], list[float]]:
    boxes, left, taken, final = boxes.tolist(), dict(enumerate(scores.tolist())), [], []
    while left:
        best = max(left, key=left.get)
        taken.append(best)
        final.append(left.pop(best))
        for i in list(left):
            overlap = iou(boxes[best], boxes[i], offset)
            if method == "gaussian":
                left[i] *= math.exp(-(overlap**2) / sigma)
            elif overlap >= threshold:
                left[i] *= 0 if method == "naive" else 1 - overlap
            if left[i] < min_score:
                del left[i]
    return taken, final


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_nms_equals_the_loop(offset, threshold, seed):
    boxes, scores = random_boxes(60, seed)
    dets, kept = nms(boxes, scores, threshold, offset=offset)
    assert kept.tolist() == naive_nms(boxes.double(), scores, threshold, offset)
    assert torch.equal(dets, torch.cat((boxes, scores[:, None]), 1)[kept])


def test_offset_changes_what_nms_keeps():
    # Widths 2 and 4 (IoU 1/2), with offset 3 and 5 (IoU 3/5).
    boxes, scores = torch.tensor([[0.0, 0.0, 4.0, 9.0], [0.0, 0.0, 2.0, 9.0]]), torch.tensor([0.9, 0.8])
    assert nms(boxes, scores, 0.55, offset=0)[1].tolist() == [0, 1]
    assert nms(boxes, scores, 0.55, offset=1)[1].tolist() == [0]


def test_box_at_the_threshold_stays():
    boxes = torch.tensor([[0.0, 0.0, 5.0, 1.0], [0.0, 0.0, 3.0, 1.0]])  # IoU 3/5, and 0.6 in float32 > 0.6 in float64
    assert nms(boxes, torch.tensor([0.9, 0.8]), 0.6)[1].tolist() == [0, 1]


def test_nms_of_nothing():
    dets, kept = nms(torch.zeros(0, 4), torch.zeros(0), 0.5)
    assert dets.shape == (0, 5)
    assert kept.shape == (0,)


def test_nms_with_score_threshold_limit_and_numpy():
    boxes, scores = random_boxes(40)
    expected = [i for i in naive_nms(boxes, scores, 0.5, 0) if scores[i] > 0.3][:7]
    _, kept = nms(boxes.numpy(), scores.numpy(), 0.5, score_threshold=0.3, max_num=7)
    assert isinstance(kept, np.ndarray)
    assert kept.tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_nms_of_other_types(dtype):
    boxes, scores = (t.to(dtype) for t in random_boxes(40))
    dets, kept = nms(boxes, scores, 0.5)
    assert kept.tolist() == naive_nms(boxes.double(), scores.double(), 0.5, 0)
    assert dets.dtype == dtype


def test_nms_of_boxes_and_scores_of_two_types():
    boxes, scores = random_boxes(40)
    assert nms(boxes, scores.half(), 0.5)[1].tolist() == naive_nms(boxes, scores.half().float(), 0.5, 0)


@pytest.mark.parametrize("split_thr", [10000, 10])
def test_batched_nms_is_nms_class_by_class(split_thr):
    boxes, scores = random_boxes(50)
    classes = torch.arange(50) % 3
    _, kept = batched_nms(boxes, scores, classes, {"type": "nms", "iou_threshold": 0.4, "split_thr": split_thr})
    own = [torch.nonzero(classes == c)[:, 0] for c in range(3)]
    expected = torch.cat([rows[naive_nms(boxes[rows], scores[rows], 0.4, 0)] for rows in own])
    assert kept.tolist() == expected[scores[expected].argsort(descending=True)].tolist()


def test_nms_exports():
    class Suppress(torch.nn.Module):
        def forward(self, boxes, scores):
            return nms(boxes, scores, 0.5)[1]

    program = torch.export.export(Suppress(), random_boxes(30))
    boxes, scores = random_boxes(30, seed=1)
    assert program.module()(boxes, scores).tolist() == naive_nms(boxes, scores, 0.5, 0)


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("min_score", [0.0, 1e-3, 0.25])
@pytest.mark.parametrize("method", ["naive", "linear", "gaussian"])
def test_soft_nms_equals_the_loop(method, min_score, offset):
    boxes, scores = (t.double() for t in random_boxes(40, seed=offset))
    dets, inds = soft_nms(boxes, scores, 0.3, sigma=0.5, min_score=min_score, method=method, offset=offset)
    taken, final = naive_soft_nms(boxes, scores, 0.3, 0.5, min_score, method, offset)
    positive = sum(score > 0 for score in final)  # the order of what naive lowered to 0 is open
    assert inds.tolist()[:positive] == taken[:positive]
    assert sorted(inds.tolist()) == sorted(taken)
    torch.testing.assert_close(dets[:, 4], torch.tensor(final, dtype=torch.double))
    assert torch.equal(dets[:, :4], boxes[inds])


def test_soft_nms_keeps_the_best_box_in_any_case():
    boxes, scores = random_boxes(5)
    dets, inds = soft_nms(boxes, scores * 1e-6, min_score=0.5)
    assert inds.tolist() == [scores.argmax().item()]
    assert dets.shape == (1, 5)


@pytest.mark.parametrize("method", ["naive", "linear", "gaussian"])
def test_soft_nms_of_boxes_without_area(method):
    boxes = torch.tensor([[3.0, 1.0, 3.0, 1.0]]).repeat(3, 1)
    dets, inds = soft_nms(boxes, torch.tensor([0.5, 0.9, 0.7]), method=method)
    assert inds.tolist() == [1, 2, 0]
    torch.testing.assert_close(dets[:, 4], torch.tensor([0.9, 0.7, 0.5]))


def test_soft_nms_of_nothing():
    dets, inds = soft_nms(torch.zeros(0, 4), torch.zeros(0))
    assert dets.shape == (0, 5)
    assert inds.shape == (0,)


def test_soft_nms_of_half_through_batched_nms():
    boxes, scores = (t.half() for t in random_boxes(20))
    dets, kept = batched_nms(
        boxes, scores, torch.zeros(20, dtype=torch.long), {"type": "soft_nms", "iou_threshold": 0.3}
    )
    taken, final = naive_soft_nms(boxes.float(), scores.float(), 0.3, 0.5, 1e-3, "linear", 0)
    assert kept.tolist() == taken
    torch.testing.assert_close(dets[:, 4].float(), torch.tensor(final), atol=1e-3, rtol=0)
