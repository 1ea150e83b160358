"""Adaptive pooling as matrix products against torch's own."""

import pytest
import torch
from torch.nn.functional import adaptive_avg_pool2d

from csan_mm.layers.pooling import adaptive_pool


@pytest.mark.parametrize("size", [(8, 8), (10, 10), (3, 5), (1, 1)], ids=str)
@pytest.mark.parametrize("grid", [(14, 14), (1, 1), (7, 9), (32, 32), (3, 50)], ids=str)
def test_equals_torchs(grid, size):
    x = torch.randn(2, *grid, 4, dtype=torch.double, requires_grad=True)
    ours = adaptive_pool(x, size)
    theirs = adaptive_avg_pool2d(x.permute(0, 3, 1, 2), size).permute(0, 2, 3, 1)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    weight = torch.randn_like(ours)
    (one,), (other,) = (torch.autograd.grad((y * weight).sum(), x) for y in (ours, theirs))
    torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_exports_with_free_sizes():
    class Pool(torch.nn.Module):
        def forward(self, x):
            return adaptive_pool(x, (4, 6))

    free = {1: torch.export.Dim("H", min=2, max=500), 2: torch.export.Dim("W", min=2, max=500)}
    program = torch.export.export(Pool(), (torch.randn(1, 9, 11, 3),), dynamic_shapes={"x": free})
    for grid in [(5, 31), (2, 2), (40, 7)]:
        x = torch.randn(1, *grid, 3)
        torch.testing.assert_close(program.module()(x), adaptive_pool(x, (4, 6)))
