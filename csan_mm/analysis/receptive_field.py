"""Effective receptive fields: which pixels move the centre of a map (Luo et al., NeurIPS 2016, arXiv 1701.04128).

For the cell y_c in the middle of a map, of C channels, and the pixel x_p of the image:

    E(p) = ||d y_c / d x_p||_F^2,   normalised: sum_p E(p) = 1

E is the squared Jacobian, summed over the channels of both. It needs no C backward passes: the mean of ||d (r . y_c) / d x_p||^2
over random signs r in {-1, +1}^C is E(p). A fixed r of ones, the field's habit, sees nothing behind a LayerNorm, whose channels
sum to a constant.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from csan_mm.analysis.pictures import save_figure
from csan_mm.common.checks import check_int
from csan_mm.common.errors import ArgumentError

#: Shares of the energy whose areas are reported.
SHARES = (0.5, 0.9)


def receptive_fields(
    backbone: nn.Module,
    images: Iterable[Tensor],
    draws: int = 8,
    seed: int = 0,
    centre: tuple[float, float] = (0.5, 0.5),
) -> list[Tensor]:
    """E of each map that a backbone returns, averaged over images.

    Args:
        backbone: Image (1, 3, H, W) -> sequence of maps (1, C, h, w). It is used in the mode it is in; eval mode is meant.
        images: Images (3, H, W) of one size, normalised.
        draws: Random signs per image. Default: 8.
        seed: Of the signs. Default: 0.
        centre: The cell looked at, as shares of the height and of the width. Default: the middle.

    Returns:
        One (H, W) per map, float64, with the sum 1.

    Raises:
        ValueError: No images, or images of different sizes; an output that is not a map, or does not depend on the image.
    """
    check_int("draws", draws, 1)
    generator = torch.Generator().manual_seed(seed)
    fields: list[Tensor] | None = None
    for image in images:
        own = _energies(backbone, image, draws, generator, centre)
        if fields is not None and fields[0].shape != own[0].shape:
            raise ArgumentError(
                f"images differ in size ({tuple(fields[0].shape)} and {tuple(own[0].shape)}): give images of one size"
            )
        fields = own if fields is None else [sum_ + field for sum_, field in zip(fields, own)]
    if fields is None:
        raise ArgumentError("images is empty: give one image at least")
    return [field / field.sum() for field in fields]


def _energies(
    backbone: nn.Module, image: Tensor, draws: int, generator: torch.Generator, centre: tuple[float, float]
) -> list[Tensor]:
    """E of one image (3, H, W), each normalised, so that every image counts as much."""
    x = image[None].detach().clone().requires_grad_()
    with torch.enable_grad():
        cells = [_cell(y, centre) for y in backbone(x)]  # (C,) each
        energies = []
        for i, cell in enumerate(cells):
            energy = torch.zeros(image.shape[-2:], dtype=torch.double)
            for _ in range(draws):
                signs = torch.randint(0, 2, cell.shape, generator=generator) * 2 - 1
                (gradient,) = torch.autograd.grad((cell * signs.to(cell)).sum(), x, retain_graph=True)
                energy += gradient[0].double().square().sum(dim=0).cpu()
            if not float(energy.sum()) > 0:
                raise ArgumentError(f"map {i} of {type(backbone).__name__} does not depend on the image (gradient 0)")
            energies.append(energy / energy.sum())
    return energies


def _cell(y: Tensor, centre: tuple[float, float]) -> Tensor:
    if y.ndim != 4:
        raise ArgumentError(
            f"an output of shape {tuple(y.shape)} is not a map (1, C, h, w): build it with out_type='featmap'"
        )
    h, w = y.shape[-2:]
    return y[0, :, min(int(centre[0] * h), h - 1), min(int(centre[1] * w), w - 1)]


def energy_area(field: Tensor, share: float) -> int:
    """Number of pixels in the smallest set that holds a share of a field's energy.

    Args:
        field: E (H, W), not negative.
        share: Above 0, at most 1.

    Raises:
        ValueError: A share out of range.
    """
    if not 0 < share <= 1:
        raise ArgumentError(f"share={share!r} is out of range: take one above 0, at most 1")
    energy = field.flatten().double().sort(descending=True).values.cumsum(0)
    reached = share * energy[-1] * (1 - 1e-12)  # the last sums differ by rounding alone
    return int((energy < reached).sum()) + 1


def describe(fields: Sequence[Tensor], strides: Sequence[int]) -> list[dict[str, Any]]:
    """One row per map, ready for JSON: ``stride``, then for each share the ``area`` in pixels and its ``side`` (its root)."""
    rows = []
    for field, stride in zip(fields, strides):
        areas = {f"{share:.0%}": energy_area(field, share) for share in SHARES}
        rows.append(
            {"stride": stride, "area": areas, "side": {share: round(area**0.5, 1) for share, area in areas.items()}}
        )
    return rows


def draw(named: dict[str, tuple[Sequence[Tensor], Sequence[int]]], path: Path) -> None:
    """Write a picture: one row per backbone, one panel per map, the energy's fourth root, so that its tails are seen.

    Args:
        named: Name of a backbone -> its fields, and the strides of its maps.
        path: Where to; its ending says the format.
    """
    from matplotlib.figure import Figure

    columns = max(len(fields) for fields, _ in named.values())
    figure = Figure(figsize=(3 * columns, 3 * len(named)), layout="constrained")
    panels = figure.subplots(len(named), columns, squeeze=False)
    for row, (name, (fields, strides)) in zip(panels, named.items()):
        for panel in row:
            panel.set_axis_off()
        for panel, field, stride in zip(row, fields, strides):
            panel.imshow(field.pow(0.25).numpy(), cmap="magma")
            sides = ", ".join(f"{energy_area(field, share) ** 0.5:.0f} px at {share:.0%}" for share in SHARES)
            panel.set_title(f"{name}, stride {stride}\n{sides}", fontsize=9)
    save_figure(figure, path)
