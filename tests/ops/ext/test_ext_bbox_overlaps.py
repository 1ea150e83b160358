"""Overlaps of boxes against a loop."""

import math

import pytest
import torch
from mmcv.ops import bbox_overlaps


def random_boxes(number: int) -> torch.Tensor:
    corner = 20 * torch.rand(number, 2)
    return torch.cat((corner, corner + 15 * torch.rand(number, 2)), dim=1)


def naive(one: list[float], other: list[float], mode: str, offset: int) -> float:
    def area(box):
        return (box[2] - box[0] + offset) * (box[3] - box[1] + offset)

    width = min(one[2], other[2]) - max(one[0], other[0]) + offset
    height = min(one[3], other[3]) - max(one[1], other[1]) + offset
    shared = max(width, 0) * max(height, 0)
    return shared / (area(one) if mode == "iof" else area(one) + area(other) - shared)


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("mode", ["iou", "iof"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_equals_the_loop(mode, offset, dtype):
    first, second = random_boxes(6).to(dtype), random_boxes(9).to(dtype)
    overlaps = bbox_overlaps(first, second, mode, offset=offset)
    assert overlaps.dtype == dtype
    assert overlaps.shape == (6, 9)
    assert (overlaps > 0).any()
    assert (overlaps == 0).any()
    for i, one in enumerate(first.tolist()):
        for j, other in enumerate(second.tolist()):
            assert overlaps[i, j].item() == pytest.approx(naive(one, other, mode, offset), rel=1e-5, abs=1e-7)
    pairs = bbox_overlaps(first, second[:6], mode, aligned=True, offset=offset)
    assert torch.equal(pairs, overlaps[:, :6].diagonal())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_types(dtype):
    first, second = random_boxes(5).to(dtype), random_boxes(4).to(dtype)
    overlaps = bbox_overlaps(first, second)
    assert overlaps.dtype == dtype
    torch.testing.assert_close(overlaps, bbox_overlaps(first.float(), second.float()).to(dtype), rtol=0, atol=0)


def test_nothing_and_boxes_without_area():
    assert bbox_overlaps(torch.zeros(0, 4), random_boxes(3)).shape == (0, 3)
    assert bbox_overlaps(torch.zeros(0, 4), torch.zeros(0, 4), aligned=True).shape == (0,)
    point = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
    assert math.isnan(bbox_overlaps(point, point).item())
    assert bbox_overlaps(point, torch.tensor([[0.0, 0.0, 2.0, 2.0]])).item() == 0
