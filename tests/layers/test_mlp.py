"""The feed-forward network with a convolution: its formula in loops, and MAViT's network as its twin on maps."""

import math

import pytest
import torch

from csan_mm.backbones.mavit import ConvFFN
from csan_mm.layers.mlp import ConvMlp

C, HIDDEN, GRID = 4, 6, (3, 5)


def loud(*arguments: int) -> ConvMlp:
    mlp = ConvMlp(*arguments).double()
    for parameter in mlp.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return mlp


@pytest.mark.parametrize("prefix", [0, 2], ids=["patches", "two-in-front"])
@torch.no_grad()
def test_equals_its_formula_in_loops(prefix):
    mlp, x = loud(C, HIDDEN), torch.randn(2, prefix + 15, C, dtype=torch.float64)
    for image, y in zip(x, mlp(x, GRID)):
        hidden = [[0.5 * t * (1 + math.erf(t / math.sqrt(2))) for t in row] for row in mlp.fc1(image).tolist()]
        for token in range(prefix + 15):
            row, column = divmod(token - prefix, GRID[1])
            mixed = torch.tensor(hidden[token], dtype=torch.float64)
            for c in range(HIDDEN if token >= prefix else 0):
                mixed[c] += mlp.dwconv.bias[c]
                for i, j in ((i, j) for i in range(3) for j in range(3)):
                    if 0 <= row + i - 1 < GRID[0] and 0 <= column + j - 1 < GRID[1]:
                        there = prefix + (row + i - 1) * GRID[1] + column + j - 1
                        mixed[c] += mlp.dwconv.weight[c, 0, i, j] * hidden[there][c]
            torch.testing.assert_close(y[token], mlp.fc2(mixed), rtol=1e-10, atol=1e-10)


@torch.no_grad()
def test_on_patches_alone_it_is_mavits():
    ours, theirs = loud(C, HIDDEN), ConvFFN(C, HIDDEN).double()
    shapes = {name: value.shape for name, value in theirs.state_dict().items()}
    theirs.load_state_dict({name: value.reshape(shapes[name]) for name, value in ours.state_dict().items()})
    x = torch.randn(2, 15, C, dtype=torch.float64)
    expected = theirs(x.unflatten(1, GRID)).flatten(1, 2)
    torch.testing.assert_close(ours(x, GRID), expected, rtol=1e-10, atol=1e-10)
