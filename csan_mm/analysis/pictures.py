"""Pictures of what was measured, written whole or not at all."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from torch import Tensor

from csan_mm.checkpoint.files import replacing
from csan_mm.common.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Endings that a picture may have.
ENDINGS = (".png", ".svg", ".pdf")
#: Layers of a backbone that a picture shows.
MOST_LAYERS = 4
#: Letters to a line of a title.
HEADING = 24

Layer = TypeVar("Layer")


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure; its ending says the format.

    Raises:
        ValueError: Another ending.
    """
    if path.suffix not in ENDINGS:
        raise ArgumentError(f"{path}: a picture ends in one of {', '.join(ENDINGS)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix.removeprefix("."), dpi=120)


def spread_out(layers: Sequence[Layer], most: int = MOST_LAYERS) -> list[Layer]:
    """At most so many layers, evenly spread from the first to the last."""
    if len(layers) <= most:
        return list(layers)
    return [layers[round(i * (len(layers) - 1) / (most - 1))] for i in range(most)]


def heading(name: str, layer: str) -> str:
    """A panel's title: a backbone's name, broken where it is long, and a layer's below it."""
    return "\n".join([*textwrap.wrap(name, HEADING), layer])


def as_picture(image: Tensor) -> Any:
    """A normalised image (3, H, W) as an array (H, W, 3) from 0 to 1, its lowest value black and its highest white."""
    low, high = image.min(), image.max()
    return ((image - low) / (high - low).clamp(min=1e-6)).permute(1, 2, 0).cpu().numpy()
