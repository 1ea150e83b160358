"""ISTA: the formula term by term, and that its step goes down the sparse coding objective."""

import torch

from csan_mm.layers.ista import ISTA


@torch.no_grad()
def test_equals_the_formula_for_column_vectors():
    layer = ISTA(5).double()
    D = layer.weight
    for x in torch.randn(4, 5, dtype=torch.double):
        expected = torch.relu(x + 0.1 * (D.T @ x - D.T @ D @ x) - 0.01)
        torch.testing.assert_close(layer(x), expected, rtol=1e-12, atol=1e-12)


@torch.no_grad()
def test_is_a_proximal_gradient_step():
    """argmin over z >= 0 of <gradient at y = x, z> + lambda |z|_1 + |z - x|^2 / (2 step), on a fine grid of z."""
    layer = ISTA(3).double()
    x = torch.tensor([0.4, -0.3, 0.05], dtype=torch.double)
    gradient = torch.autograd.functional.jacobian(lambda y: (x - layer.weight @ y).square().sum() / 2, x)
    z = torch.linspace(0, 1, 100_001, dtype=torch.double)[:, None]
    objective = gradient * z + 0.1 * z + (z - x).square() / 0.2
    torch.testing.assert_close(layer(x), z[objective.argmin(0)].squeeze(-1), rtol=0, atol=1e-5)
