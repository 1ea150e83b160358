"""RoIAlign against a loop over boxes, bins and samples; gradients too."""

from math import ceil, floor

import pytest
import torch
from mmcv.ops import RoIAlign, roi_align

from csan_mm.ops.ext import roi_align as served

SIZE = (2, 3)
BOXES = {
    "inside": (1, 2.0, 3.0, 19.0, 21.0),
    "over-the-border": (0, -7.3, 14.2, 11.1, 37.9),
    "outside": (1, -90.0, -80.0, -60.0, -70.0),
    "whole-map": (0, 0.0, 0.0, 28.0, 24.0),
    "thin": (1, 5.1, 2.3, 5.6, 22.2),
    "no-area": (0, 9.0, 9.0, 9.0, 9.0),
}


def features(dtype=torch.float64) -> torch.Tensor:
    return torch.randn(2, 3, 6, 7, dtype=dtype)


def rois(dtype=torch.float64) -> torch.Tensor:
    return torch.tensor(list(BOXES.values()), dtype=dtype)


def sample(plane: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """Bilinear value of a (C, H, W) plane: border cells up to one cell outside, 0 beyond."""
    H, W = plane.shape[1:]
    if not (-1 <= y <= H and -1 <= x <= W):
        return plane.new_zeros(plane.shape[0])
    y, x = min(max(y, 0), H - 1), min(max(x, 0), W - 1)
    y0, x0 = floor(y), floor(x)
    y1, x1 = min(y0 + 1, H - 1), min(x0 + 1, W - 1)
    top = plane[:, y0, x0] * (1 - x + x0) + plane[:, y0, x1] * (x - x0)
    bottom = plane[:, y1, x0] * (1 - x + x0) + plane[:, y1, x1] * (x - x0)
    return top * (1 - y + y0) + bottom * (y - y0)


def naive(feats, boxes, size, scale, ratio, aligned) -> torch.Tensor:
    out = []
    for image, *corners in boxes.tolist():
        x1, y1, x2, y2 = (c * scale - (0.5 if aligned else 0) for c in corners)
        width, height = x2 - x1, y2 - y1
        if not aligned:
            width, height = max(width, 1), max(height, 1)
        bh, bw = height / size[0], width / size[1]
        gh, gw = (ratio, ratio) if ratio else (ceil(bh), ceil(bw))
        for p in range(size[0]):
            for q in range(size[1]):
                points = [
                    sample(feats[int(image)], y1 + (p + (i + 0.5) / gh) * bh, x1 + (q + (j + 0.5) / gw) * bw)
                    for i in range(gh)
                    for j in range(gw)
                ] or [feats.new_zeros(feats.shape[1])]
                points = torch.stack(points)
                out.append(points.mean(0))
    return torch.stack(out).view(len(boxes), *size, -1).permute(0, 3, 1, 2)


@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "unaligned"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_values_and_gradient_equal_the_loop(ratio, aligned):
    feats, boxes = features().requires_grad_(), rois()
    out = RoIAlign(SIZE, 0.25, ratio, "avg", aligned)(feats, boxes)
    expected = naive(feats, boxes, SIZE, 0.25, ratio, aligned)
    torch.testing.assert_close(out, expected)
    weights = torch.randn_like(out)
    (got,) = torch.autograd.grad((out * weights).sum(), feats)
    (wanted,) = torch.autograd.grad((expected * weights).sum(), feats)
    torch.testing.assert_close(got, wanted)


def test_gradcheck():
    feats = features()[:, :1].contiguous().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: roi_align(x, rois()[:3], SIZE, 0.25, 0, "avg", True), feats)


def test_box_without_area_gives_zero_and_no_gradient():
    feats = features().requires_grad_()
    out = roi_align(feats, rois()[-1:], SIZE, 0.25, 0, "avg", True)
    (grad,) = torch.autograd.grad(out.sum(), feats)
    assert not out.any()
    assert not grad.any()


@pytest.mark.parametrize("ratio", [0, 2])
@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "unaligned"])
def test_deterministic_gradient_of_the_mean_is_torchvisions(ratio, aligned):
    feats, boxes = features().requires_grad_(), rois()
    out = roi_align(feats, boxes, SIZE, 0.25, ratio, "avg", aligned)
    grad = torch.randn_like(out)
    (wanted,) = torch.autograd.grad(out, feats, grad)
    got = served._avg_backward(grad, boxes, served._Bins(SIZE, 0.25, ratio, aligned), tuple(feats.shape))
    torch.testing.assert_close(got, wanted)


def test_many_boxes_are_taken_in_turns(monkeypatch):
    boxes, grad, bins = rois(), torch.randn(len(BOXES), 3, *SIZE, dtype=torch.double), served._Bins(SIZE, 0.25, 2, True)
    at_once = served._avg_backward(grad, boxes, bins, (2, 3, 6, 7))
    monkeypatch.setattr(served, "MAX_SAMPLES", 1)
    torch.testing.assert_close(served._avg_backward(grad, boxes, bins, (2, 3, 6, 7)), at_once)


def test_the_maximum_is_refused_with_the_cure():
    with pytest.raises(NotImplementedError, match=r"set pool_mode='avg'.* Install an mmcv with compiled operators"):
        roi_align(features(), rois(), SIZE, 0.25, 2, "max", True)


def test_no_boxes():
    feats = features().requires_grad_()
    out = roi_align(feats, torch.zeros(0, 5, dtype=feats.dtype), SIZE, 0.25, 0, "avg", True)
    (grad,) = torch.autograd.grad(out.sum(), feats)
    assert out.shape == (0, 3, *SIZE)
    assert not grad.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype):
    feats, boxes = features(dtype).requires_grad_(), rois(dtype)
    out = roi_align(feats, boxes, SIZE, 0.25, 2, "avg", True)
    wide = roi_align(feats.float(), boxes.float(), SIZE, 0.25, 2, "avg", True)
    assert torch.equal(out, wide.to(dtype))
    (grad,) = torch.autograd.grad(out.float().sum(), feats)
    (wanted,) = torch.autograd.grad(wide.sum(), feats)
    assert grad.dtype == dtype
    torch.testing.assert_close(grad.float(), wanted.float(), atol=1e-2, rtol=0.02)


def test_channels_last_features_and_expanded_gradient():
    feats, boxes = features().requires_grad_(), rois()
    last = feats.detach().to(memory_format=torch.channels_last).requires_grad_()
    grads = [torch.autograd.grad(roi_align(x, boxes, SIZE, 0.25, 0, "avg", True).sum(), x)[0] for x in (feats, last)]
    torch.testing.assert_close(grads[0], grads[1])


def test_exports_with_any_number_of_boxes():
    module = RoIAlign(SIZE, 0.25, 0)
    feats, boxes = features(torch.float32), rois(torch.float32)
    dynamic = ({}, {0: torch.export.Dim("boxes", min=2, max=64)})
    program = torch.export.export(module, (feats, boxes), dynamic_shapes=dynamic)
    assert torch.equal(program.module()(feats, boxes[:4]), module(feats, boxes[:4]))
