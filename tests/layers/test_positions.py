"""Position tables on other grids: timm's resizing, its gradient, deterministic and in half precision."""

import pytest
import torch
from timm.layers import resample_abs_pos_embed

from csan_mm.layers.positions import resized_bicubic, resized_positions

GRIDS = [
    ((14, 14), (7, 9)),
    ((14, 14), (30, 21)),
    ((4, 6), (4, 9)),
    ((3, 3), (1, 1)),
    ((1, 1), (5, 2)),
    ((2, 5), (64, 64)),
]


@pytest.mark.parametrize("prefix", [0, 2])
@pytest.mark.parametrize(("source", "grid"), GRIDS, ids=str)
def test_it_is_timms(source, grid, prefix):
    table = torch.randn(1, prefix + source[0] * source[1], 5)
    expected = resample_abs_pos_embed(table, list(grid), list(source), num_prefix_tokens=prefix)
    torch.testing.assert_close(resized_positions(table, source, grid, prefix), expected, rtol=1e-4, atol=1e-5)


def test_its_own_grid_is_the_table_itself():
    table = torch.randn(1, 13, 4)
    assert resized_positions(table, (3, 4), (3, 4), 1) is table


def test_gradients():
    maps = torch.randn(1, 3, 4, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: resized_bicubic(x, (5, 3)), maps)


def test_a_constant_stays_and_rows_are_kept_apart():
    """Weights of a new cell sum to 1, and a map that varies along one side alone still does."""
    torch.testing.assert_close(resized_bicubic(torch.full((1, 3, 5, 1), 2.5), (7, 2)), torch.full((1, 7, 2, 1), 2.5))
    stripes = torch.arange(4.0).view(1, 4, 1, 1).expand(1, 4, 3, 1)
    resized = resized_bicubic(stripes, (9, 8))
    torch.testing.assert_close(resized, resized[:, :, :1].expand_as(resized))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_resized_in_float32(dtype):
    maps = torch.randn(1, 3, 4, 2).to(dtype).requires_grad_()
    y = resized_bicubic(maps, (6, 5))
    assert torch.equal(y, resized_bicubic(maps.float(), (6, 5)).to(dtype))
    y.float().sum().backward()
    assert maps.grad.isfinite().all()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(resized_bicubic(maps.float(), (6, 5)), resized_bicubic(maps.float(), (6, 5)))
        assert resized_bicubic(maps.float(), (6, 5)).dtype == torch.float32
