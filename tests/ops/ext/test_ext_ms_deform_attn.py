"""Multi-scale deformable attention, as mmcv calls it on a GPU, against a loop over heads, queries, levels and points."""

from math import floor

import pytest
import torch
from mmcv.ops.multi_scale_deform_attn import MultiScaleDeformableAttnFunction

SHAPES = ((3, 4), (2, 2))
HEADS, CHANNELS, QUERIES, POINTS = 2, 3, 3, 2


def inputs(dtype=torch.float64) -> list[torch.Tensor]:
    value = torch.randn(1, sum(h * w for h, w in SHAPES), HEADS, CHANNELS, dtype=dtype)
    locations = torch.rand(1, QUERIES, HEADS, len(SHAPES), POINTS, 2, dtype=dtype) * 1.4 - 0.2
    weights = torch.rand(1, QUERIES, HEADS, len(SHAPES), POINTS, dtype=dtype)
    return [t.requires_grad_() for t in (value, locations, weights)]


def attend(value, locations, weights):
    starts = torch.tensor([0, SHAPES[0][0] * SHAPES[0][1]])
    return MultiScaleDeformableAttnFunction.apply(value, torch.tensor(SHAPES), starts, locations, weights, 64)


def naive(value, locations, weights):
    out = []
    for q in range(QUERIES):
        for head in range(HEADS):
            total, start = 0, 0
            for level, (h, w) in enumerate(SHAPES):
                for point in range(POINTS):
                    x, y = locations[0, q, head, level, point] * torch.tensor([w, h]) - 0.5
                    for row in (floor(y), floor(y) + 1):
                        for col in (floor(x), floor(x) + 1):
                            if 0 <= row < h and 0 <= col < w:
                                share = (
                                    (1 - (y - row).abs()) * (1 - (x - col).abs()) * weights[0, q, head, level, point]
                                )
                                total = total + share * value[0, start + row * w + col, head]
                start += h * w
            out.append(total + value.new_zeros(CHANNELS))
    return torch.stack(out).view(1, QUERIES, HEADS * CHANNELS)


def test_values_and_gradients_equal_the_loop():
    tensors = inputs()
    out, expected = attend(*tensors), naive(*tensors)
    torch.testing.assert_close(out, expected)
    grad = torch.randn_like(out)
    torch.testing.assert_close(torch.autograd.grad(out, tensors, grad), torch.autograd.grad(expected, tensors, grad))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    tensors = inputs(dtype)
    out = attend(*tensors)
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), attend(*(t.float() for t in tensors)), atol=0.02, rtol=0.02)
    assert all(g.isfinite().all() and g.dtype == dtype for g in torch.autograd.grad(out.float().sum(), tensors))
