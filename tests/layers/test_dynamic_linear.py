"""DynamicLinear against its formulas in loops, its costs, and the guard."""

import math

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from csan_mm.layers.dynamic import pool_pairs
from csan_mm.layers.dynamic_linear import LINEAR_STRATEGIES, DynamicLinear, product, product_macs

GRIDS = [(1, 1), (1, 5), (4, 1), (4, 4), (3, 5), (7, 2)]
strategies = pytest.mark.parametrize("strategy", LINEAR_STRATEGIES)


def loud(layer: torch.nn.Module) -> torch.nn.Module:
    """Parameters so large that every term shows."""
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return layer.double()


def silu(t: float) -> float:
    return t / (1 + math.exp(-t))


def activated(x: Tensor) -> Tensor:
    return torch.tensor([[silu(float(t)) for t in row] for row in x], dtype=x.dtype)


def loop_pool(x: Tensor, height: int, width: int) -> Tensor:
    """2 x 2 means; of a side of 1 there is only that one row or column."""
    rows = [(0,)] if height == 1 else [(2 * i, 2 * i + 1) for i in range(height // 2)]
    columns = [(0,)] if width == 1 else [(2 * j, 2 * j + 1) for j in range(width // 2)]
    cells = [[x[i * width + j] for i in pair for j in other] for pair in rows for other in columns]
    return torch.stack([sum(cell) / len(cell) for cell in cells])


def loop_linear(layer: DynamicLinear, x: Tensor, grid: tuple[int, int]) -> Tensor:
    """The formulas for one image x (N, C), entry by entry where they are ours."""
    n, c = x.shape
    count, quarter = n, c // 4
    xp = x
    for _ in range(layer.halvings):
        xp = loop_pool(xp, *grid)
        grid = max(1, grid[0] // 2), max(1, grid[1] // 2)
    if layer.strategy == "gap":
        xp, count = sum(x).unsqueeze(0) / n, 1
    if layer.strategy == "bilateral":
        hidden = layer.wfm(xp)
        a, b = activated(hidden[:, :quarter]) @ layer.w1, activated(hidden[:, quarter:]) @ layer.w2
    elif layer.strategy == "deep":
        a, b = xp, activated(layer.wfm(xp)) @ layer.w2
    else:
        a, b = xp, xp @ layer.w2
        b = b if layer.strategy == "linear" else activated(b)
    matrix = torch.empty_like(layer.w)
    for o in range(matrix.shape[1]):
        column = [sum(float(a[t, i] * b[t, o]) for t in range(len(xp))) * c**-0.5 / count for i in range(c)]
        norm = math.sqrt(sum(entry**2 for entry in column))
        for i in range(c):
            matrix[i, o] = layer.w[i, o] + column[i] / (norm + 1)
    return x @ matrix + layer.b


@strategies
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("pooling", [1, 2, 4])
@torch.no_grad()
def test_equals_the_formulas_in_loops(strategy, grid, pooling):
    layer = loud(DynamicLinear(8, 12, strategy, pooling=pooling))
    x = torch.randn(2, grid[0] * grid[1], 8, dtype=torch.float64)
    expected = torch.stack([loop_linear(layer, image, grid) for image in x])
    torch.testing.assert_close(layer(x, grid), expected, rtol=1e-10, atol=1e-10)


@strategies
def test_gradients_against_finite_differences(strategy):
    layer = loud(DynamicLinear(4, 8, strategy, layer_scale=0.5))
    x = torch.randn(2, 6, 4, dtype=torch.float64, requires_grad=True)
    names = list(dict(layer.named_parameters()))
    arguments = (x, *[p.detach().clone().requires_grad_() for p in layer.parameters()])
    assert torch.autograd.gradcheck(
        lambda x, *p: torch.func.functional_call(layer, dict(zip(names, p)), (x, (2, 3))), arguments
    )


@pytest.mark.parametrize("expands", [True, False], ids=["two-sided", "one-sided"])
@pytest.mark.parametrize("n", [1, 3, 40, 400])
def test_both_orders_of_the_product_agree(n, expands):
    w1, w2 = (torch.randn(4, 12) if expands else None), torch.randn(6, 24)
    left, right = torch.randn(2, n, 4).double(), torch.randn(2, n, 6).double()
    w1, w2 = (None if w1 is None else w1.double()), w2.double()
    expected = (left if w1 is None else left @ w1).transpose(1, 2) @ (right @ w2)
    with FlopCounterMode(display=False) as counter:
        got = product(left, right, w1, w2)
    torch.testing.assert_close(got, expected)
    costs = product_macs(n, 4, 6, 4 if w1 is None else 12, 24, expands)
    assert counter.get_total_flops() == 2 * 2 * min(costs)


def test_the_cheaper_order_depends_on_the_size():
    """WeightFormer-S at 224 (49 pooled tokens) and at 1024 (1,024)."""
    small, large = (product_macs(n, 96, 384, 384, 1536, True) for n in (49, 1024))
    assert small[0] < small[1]
    assert large[1] < large[0] / 6


@strategies
@pytest.mark.parametrize("grid", [(1, 1), (5, 6), (30, 31)], ids=str)
@pytest.mark.parametrize(("rate", "pooling"), [(4, 2), (2, 1), (8, 4)])
def test_says_what_its_prediction_costs(strategy, grid, rate, pooling):
    layer, tokens = DynamicLinear(16, 64, strategy, rate, pooling=pooling), grid[0] * grid[1]
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        layer(torch.randn(3, tokens, 16), grid)
    assert counter.get_total_flops() == 2 * 3 * (tokens * 16 * 64 + layer.prediction_macs(grid))


@torch.no_grad()
def test_the_guard_bounds_what_is_predicted():
    """However loud the tokens, no column of W moves further from w than 1; with a gain g, than g."""
    for scale, bound in ((None, 1.0), (0.1, 0.1)):
        layer = loud(DynamicLinear(8, 12, layer_scale=scale))
        if scale is not None:
            torch.nn.init.constant_(layer.gain, scale)
        x = 1e6 * torch.randn(1, 16, 8, dtype=torch.float64)
        moved = torch.linalg.vector_norm(layer.kernel(x, (4, 4)) - layer.w, dim=1)
        assert (moved < bound).all()
        assert (moved > 0.9 * bound).any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@torch.no_grad()
def test_half_precision_at_many_loud_tokens(dtype):
    """In the sum form the 16,384 tokens of a 2048 x 2048 image overflow float16."""
    layer, grid = DynamicLinear(32, 128), (128, 128)
    for matrix in (layer.wfm.weight, layer.w1, layer.w2):
        torch.nn.init.normal_(matrix, std=0.3)
    x = 4 * torch.randn(1, 128 * 128, 32) + 1
    expected = layer(x, grid)
    with torch.autocast("cpu", dtype=dtype):
        y = layer(x, grid)
    assert y.isfinite().all()
    assert (y.float() - expected).abs().max() < 0.02 * expected.abs().max()


@torch.no_grad()
def test_whole_model_in_half_precision():
    layer = DynamicLinear(16, 32).bfloat16()
    assert layer(torch.randn(1, 6, 16, dtype=torch.bfloat16), (2, 3)).dtype == torch.bfloat16


@torch.no_grad()
def test_norm_ratio():
    layer = loud(DynamicLinear(8, 12))
    x = torch.randn(2, 16, 8, dtype=torch.float64)
    norms = [float(update.square().sum().sqrt() / layer.w.square().sum().sqrt()) for update in layer.predict(x, (4, 4))]
    assert layer.norm_ratio(x, (4, 4)) == pytest.approx(sum(norms) / 2)


@pytest.mark.parametrize("side", [1, 2, 3, 4, 7])
def test_pairs_are_averaged(side):
    x = torch.arange(float(side))[None, :, None]
    expected = [0.0] if side == 1 else [2 * i + 0.5 for i in range(side // 2)]
    assert pool_pairs(x, 1).flatten().tolist() == expected


@pytest.mark.parametrize(
    ("options", "named"),
    [({"strategy": "both"}, "strategy='both'"), ({"in_features": 6}, "in_features=6"), ({"rate": 3}, "rate=3")],
    ids=str,
)
def test_wrong_arguments_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        DynamicLinear(**{"in_features": 8, "out_features": 16, **options})
