"""Pictures of what was measured, written whole or not at all."""

from pathlib import Path
from typing import TYPE_CHECKING

from csan_mm.checkpoint.files import replacing
from csan_mm.common.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Endings that a picture may have.
ENDINGS = (".png", ".svg", ".pdf")


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
