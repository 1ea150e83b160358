"""DynamicDepthwiseConv against its formulas in loops, its costs, and the guard."""

import math

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from csan_mm.layers.dynamic_conv import CONV_STRATEGIES, DynamicDepthwiseConv, grouped_convolution, shifted_products

GRIDS = [(1, 1), (1, 5), (4, 2), (3, 3), (5, 7)]
strategies = pytest.mark.parametrize("strategy", CONV_STRATEGIES)


def loud(layer: torch.nn.Module) -> torch.nn.Module:
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return layer.double()


def gelu(t: float) -> float:
    return 0.5 * t * (1 + math.erf(t / math.sqrt(2)))


def activated(x: Tensor) -> Tensor:
    return torch.tensor([gelu(float(t)) for t in x.flatten()], dtype=x.dtype).reshape(x.shape)


def loop_pool(x: Tensor, bins: int) -> Tensor:
    """Adaptive averages of a map (H, W, C): bin i goes from floor(i H / bins) to ceil((i + 1) H / bins)."""
    spans = [[(i * side // bins, -(-(i + 1) * side // bins)) for i in range(bins)] for side in x.shape[:2]]
    return torch.stack([torch.stack([x[a:b, c:d].mean((0, 1)) for c, d in spans[1]]) for a, b in spans[0]])


def loop_same(x: Tensor, weight: Tensor) -> Tensor:
    """A dense convolution of a map (H, W, C) with zeros around it."""
    reach = weight.shape[-1] // 2
    out = torch.zeros(*x.shape[:2], weight.shape[0], dtype=x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for u in range(-reach, reach + 1):
                for v in range(-reach, reach + 1):
                    if 0 <= i + u < x.shape[0] and 0 <= j + v < x.shape[1]:
                        out[i, j] += weight[:, :, u + reach, v + reach] @ x[i + u, j + v]
    return out


def loop_conv(layer: DynamicDepthwiseConv, x: Tensor, grid: tuple[int, int]) -> Tensor:
    """The formulas for one image x (N, C)."""
    c, cells = x.shape[1], x.reshape(*grid, -1)
    first, _, second = layer.wfm
    pooled = loop_pool(cells, 1 if layer.strategy == "gap" else 3)
    dw = loop_same(activated(loop_same(pooled, first.weight) + first.bias), second.weight)
    dw = dw.reshape(c, 3, 3) if layer.strategy == "gap" else dw.permute(2, 0, 1)  # (C, 3, 3)
    y = torch.zeros(*grid, c, dtype=x.dtype)
    for channel in range(c):
        taps = dw[channel]
        if layer.strategy == "amp_dir":
            amplitude = 1 / (1 + math.exp(-float(layer.amp(x.mean(0))[channel])))
            taps = amplitude * taps / taps.square().sum().sqrt()
        kernel = layer.w[channel, 0] + taps / (taps.square().sum().sqrt() + 1)
        y[:, :, channel] = loop_same(cells[:, :, channel, None], kernel[None, None])[:, :, 0] + layer.b[channel]
    return y.flatten(0, 1)


@strategies
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@torch.no_grad()
def test_equals_the_formulas_in_loops(strategy, grid):
    layer = loud(DynamicDepthwiseConv(4, strategy))
    x = torch.randn(2, grid[0] * grid[1], 4, dtype=torch.float64)
    expected = torch.stack([loop_conv(layer, image, grid) for image in x])
    torch.testing.assert_close(layer(x, grid), expected, rtol=1e-10, atol=1e-10)


@strategies
def test_gradients_against_finite_differences(strategy):
    layer = loud(DynamicDepthwiseConv(4, strategy, layer_scale=0.5))
    x = torch.randn(2, 6, 4, dtype=torch.float64, requires_grad=True)
    names = list(dict(layer.named_parameters()))
    arguments = (x, *[p.detach().clone().requires_grad_() for p in layer.parameters()])
    assert torch.autograd.gradcheck(
        lambda x, *p: torch.func.functional_call(layer, dict(zip(names, p)), (x, (2, 3))), arguments
    )


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_captured_form_equals_the_grouped_one(grid):
    x = torch.randn(2, *grid, 3, dtype=torch.float64, requires_grad=True)
    kernel = torch.randn(2, 3, 3, 3, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(3, dtype=torch.float64, requires_grad=True)
    results = []
    for convolve in (grouped_convolution, shifted_products):
        y = convolve(x, kernel, bias)
        results.append((y, *torch.autograd.grad(y.square().sum(), [x, kernel, bias])))
    for grouped, shifted in zip(*results):
        torch.testing.assert_close(grouped, shifted)


@strategies
@pytest.mark.parametrize("grid", [(1, 1), (5, 6)], ids=str)
def test_says_what_its_prediction_costs(strategy, grid):
    layer, tokens = DynamicDepthwiseConv(8, strategy), grid[0] * grid[1]
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        layer(torch.randn(3, tokens, 8), grid)
    assert counter.get_total_flops() == 2 * 3 * (9 * tokens * 8 + layer.prediction_macs(grid))


@strategies
@torch.no_grad()
def test_the_guard_bounds_what_is_predicted(strategy):
    layer = loud(DynamicDepthwiseConv(16, strategy))
    moved = layer.kernel(1e6 * torch.randn(1, 16, 16, dtype=torch.float64), (4, 4)) - layer.w
    norms = torch.linalg.vector_norm(moved, dim=(3, 4))
    assert (norms < 1).all()
    assert (norms > (0.4 if strategy == "amp_dir" else 0.9)).any()


def test_silent_tokens_have_finite_gradients():
    """All zeros: the direction of a vanishing kernel is not NaN, nor is the slope of its norm."""
    for strategy in CONV_STRATEGIES:
        layer = DynamicDepthwiseConv(4, strategy)
        torch.nn.init.zeros_(layer.wfm[0].bias)
        layer(torch.zeros(1, 9, 4), (3, 3)).sum().backward()
        assert all(p.grad.isfinite().all() for p in layer.parameters())


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="strategy='all' is unknown: take one of gap, adaptive"):
        DynamicDepthwiseConv(8, "all")
    with pytest.raises(ValueError, match="embed_dims=6"):
        DynamicDepthwiseConv(6, "gap")
