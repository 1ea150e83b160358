"""Noise on the projections of attention: how much accuracy a mixer loses (CBSA's figure of robustness, arXiv 2509.16875).

Gaussian noise of a variance is added where queries, keys and values are made: to the weights of CBSA's one projection, or of
the ``qkv`` of others, or to what comes out of them. "Noise of variance 1 on the projection" can be read both ways. Under strong
noise scores saturate. Softmax attention then hands every token a value that is noise; CBSA's broadcast, whose rows are not
normalised again, leaves those tokens alone that won no representative.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from csan_mm.analysis.pictures import save_figure
from csan_mm.common.checks import check_choice
from csan_mm.common.errors import ArgumentError
from csan_mm.mixers.base import TokenMixer
from csan_mm.mixers.subspace import SubspaceMixer

VARIANCES = (0.0, 0.001, 0.01, 0.1, 0.3, 1.0)
PLACES = ("weights", "outputs")


@dataclass(frozen=True)
class NoisePoint:
    """What a model reaches under noise of one variance: the score of each trial."""

    name: str
    variance: float
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the trials."""
        return sum(self.scores) / len(self.scores)

    @property
    def spread(self) -> float:
        """Standard deviation over the trials (of the sample, not of the mean); 0 for one trial."""
        return float(torch.tensor(self.scores).std(correction=min(1, len(self.scores) - 1)))


def projections(model: nn.Module) -> list[nn.Linear]:
    """The layers that project tokens to queries, keys and values, in the model's order.

    Raises:
        ValueError: The model has no mixer of csan_mm.
    """
    mixers = [module for module in model.modules() if isinstance(module, TokenMixer)]
    if not mixers:
        raise ArgumentError(
            f"{type(model).__name__} has no mixer of csan_mm: take a model with mixer='cbsa', 'softmax', ..."
        )
    return [mixer.proj if isinstance(mixer, SubspaceMixer) else mixer.qkv for mixer in mixers]


@contextmanager
def noisy_projections(model: nn.Module, variance: float, seed: int, on: str = "weights") -> Iterator[None]:
    """Within the block, the projections carry noise of a variance; the same seed is the same noise on any device.

    Args:
        model: A model with mixers of csan_mm.
        variance: Of the noise.
        seed: Of the noise.
        on: 'weights', drawn once, or 'outputs', drawn anew at every pass. Default: 'weights'.

    Raises:
        ValueError: Unknown ``on``, or no mixers.
    """
    check_choice("on", on, PLACES)
    generator = torch.Generator().manual_seed(seed)

    def noisy(values: Tensor) -> Tensor:
        return values + (torch.randn(values.shape, generator=generator) * variance**0.5).to(values)

    with (_noisy_weights if on == "weights" else _noisy_outputs)(projections(model), noisy):
        yield


@contextmanager
def _noisy_weights(layers: list[nn.Linear], noisy: Callable[[Tensor], Tensor]) -> Iterator[None]:
    clean = [layer.weight.detach().clone() for layer in layers]
    try:
        with torch.no_grad():
            for layer in layers:
                layer.weight.copy_(noisy(layer.weight))
        yield
    finally:
        with torch.no_grad():
            for layer, value in zip(layers, clean):
                layer.weight.copy_(value)


@contextmanager
def _noisy_outputs(layers: list[nn.Linear], noisy: Callable[[Tensor], Tensor]) -> Iterator[None]:
    handles = [layer.register_forward_hook(lambda _, __, output: noisy(output)) for layer in layers]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def measure(
    name: str,
    model: nn.Module,
    evaluate: Callable[[], float],
    variances: Sequence[float] = VARIANCES,
    trials: int = 3,
    on: str = "weights",
) -> Iterator[NoisePoint]:
    """Evaluate a model under noise.

    Args:
        name: What to call it.
        model: The model that ``evaluate`` evaluates.
        evaluate: Returns its score, such as an accuracy.
        variances: Of the noise; 0 is evaluated once. Default: 0 to 1.
        trials: Draws of the noise per variance. Default: 3.
        on: Where the noise is, see :func:`noisy_projections`. Default: 'weights'.
    """
    for variance in variances:
        scores = []
        for seed in range(trials if variance else 1):
            with noisy_projections(model, variance, seed, on):
                scores.append(evaluate())
        yield NoisePoint(name, variance, tuple(scores))


def format_points(points: Sequence[NoisePoint]) -> str:
    """A table with a line per point: score, spread over the draws, and what is left of the score without noise."""
    rows = ["| model | variance | score | spread | left |", "|---|---|---|---|---|"]
    clean = {point.name: point.mean for point in points if point.variance == 0}
    for point in points:
        left = f"{point.mean / clean[point.name]:.0%}" if clean.get(point.name) else "-"
        rows.append(f"| {point.name} | {point.variance:g} | {point.mean:.2f} | {point.spread:.2f} | {left} |")
    return "\n".join(rows)


def draw(points: Sequence[NoisePoint], path: Path, ylabel: str) -> None:
    """Write a picture: the score over the variance, one line per model, spread as bars."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    panel = figure.subplots()
    smallest = min((point.variance for point in points if point.variance), default=1.0)
    for name in dict.fromkeys(point.name for point in points):
        own = [point for point in points if point.name == name]
        panel.errorbar(
            [p.variance for p in own], [p.mean for p in own], [p.spread for p in own], marker="o", capsize=3, label=name
        )
    panel.set_xscale("symlog", linthresh=smallest)
    panel.set(xlabel="variance of the noise on the projection", ylabel=ylabel, ylim=(0, None))
    panel.grid(alpha=0.3)
    panel.legend()
    save_figure(figure, path)
