"""Coding rates by layer: how far tokens are compressed, and how the representatives of CBSA go ahead (arXiv 2509.16875).

The rate at which n points of width p can be coded up to an error of epsilon (Yu et al., "Maximal Coding Rate Reduction",
NeurIPS 2020, eq. 7), and its sum over the subspaces of a mixer with the projections U_h (CRATE, NeurIPS 2023, eq. 9):

    R(Z) = 1/2 logdet(I + p / (n epsilon^2) Z^T Z)        Z (n, p)
    R^c  = sum_h R(U_h^T Z)

CBSA contracts the representatives and hands the contraction on to the tokens.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from csan_mm.analysis.pictures import save_figure
from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.mixers.cbsa import CBSA
from csan_mm.mixers.subspace import SubspaceMixer

EPSILON = 0.5

#: Curves, and what they are the rates of in the words of cbsa.py.
CURVES = {
    "tokens": "w",
    "representatives": "rep, extracted",
    "contracted representatives": "dR",
}


def coding_rate(points: Tensor, epsilon: float = EPSILON) -> Tensor:
    """R of points (..., n, p), in nats: (...).

    Args:
        points: n points of width p.
        epsilon: The error that is allowed. Default: 0.5.
    """
    points = points.to(torch.promote_types(points.dtype, torch.float32))
    n, p = points.shape[-2:]
    gram = points.transpose(-2, -1) @ points * (p / (n * epsilon**2))
    return torch.linalg.slogdet(torch.eye(p, dtype=points.dtype, device=points.device) + gram).logabsdet / 2


class CodingRates:
    """Coding rates of a model's subspace mixers, collected over images.

    Attributes:
        rates: Curve -> one list per layer -> R^c of each image.

    Raises:
        ValueError: The model has no CBSA, MSSA or TSSA.

    Example:
        >>> rates = CodingRates(CBT('tiny').eval())
        >>> with rates.collecting():
        ...     rates.model(torch.randn(2, 3, 224, 224))
        >>> len(rates.means()['tokens'])
        12
    """

    def __init__(self, model: nn.Module, epsilon: float = EPSILON) -> None:
        check_arguments(locals())
        if not isinstance(model, nn.Module):
            raise ArgumentError(f"model={model!r} is not a torch module: take one")
        self.model = model
        self.epsilon = epsilon
        self.mixers = [module for module in model.modules() if isinstance(module, SubspaceMixer)]
        if not self.mixers:
            raise ArgumentError(
                f"{type(model).__name__} has no subspaces: take a model with mixer='cbsa', 'mssa' or 'tssa'"
            )
        curves = CURVES if all(isinstance(mixer, CBSA) for mixer in self.mixers) else ("tokens",)
        self.rates: dict[str, list[list[float]]] = {curve: [[] for _ in self.mixers] for curve in curves}

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Within the block, every forward pass of the model adds the rates of its images."""
        handles = [mixer.register_forward_pre_hook(self._hook(i)) for i, mixer in enumerate(self.mixers)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def means(self) -> dict[str, list[float]]:
        """Curve -> mean over the images, per layer."""
        return {curve: [sum(own) / len(own) for own in layers] for curve, layers in self.rates.items()}

    def _hook(self, layer: int) -> Callable[[SubspaceMixer, tuple[Tensor, ...]], None]:
        @torch.no_grad()
        def add(mixer: SubspaceMixer, inputs: tuple[Tensor, ...]) -> None:
            for curve, points in zip(self.rates, self._points(mixer, inputs)):  # (B, H, n, p) each
                rates = coding_rate(points, self.epsilon).sum(dim=1)  # (B,)
                self.rates[curve][layer] += rates.tolist()

        return add

    def _points(self, mixer: SubspaceMixer, inputs: tuple[Tensor, ...]) -> Iterable[Tensor]:
        if "representatives" not in self.rates:
            return [mixer.split_heads(mixer.proj(inputs[0]))]
        trace = mixer.trace(*inputs[:2])
        return trace.tokens, trace.representatives, trace.contracted


def format_rates(means: dict[str, list[float]]) -> str:
    """A table with a line per layer."""
    rows = [f"| layer | {' | '.join(means)} |", "|---" * (1 + len(means)) + "|"]
    rows += [
        f"| {layer} | {' | '.join(f'{rate:.1f}' for rate in line)} |" for layer, line in enumerate(zip(*means.values()))
    ]
    return "\n".join(rows)


def draw(named: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Write a picture: one panel per model, one line per curve.

    Args:
        named: Name of a model -> its means.
        path: Where to; its suffix says the format.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(named), 4), layout="constrained")
    panels: Sequence = figure.subplots(1, len(named), squeeze=False, sharey=True)[0]
    for panel, (name, means) in zip(panels, named.items()):
        for curve, rates in means.items():
            panel.plot(range(len(rates)), rates, marker="o", label=curve)
        panel.set(title=name, xlabel="layer", ylabel="coding rate over the subspaces, nats")
        panel.locator_params(axis="x", integer=True)
        panel.grid(alpha=0.3)
        panel.legend()
    save_figure(figure, path)
