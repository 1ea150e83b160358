"""The diagnostics by name, all called alike: what ``csan_mm diagnose`` runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from csan_mm.analysis import receptive_field
from csan_mm.backbones.base import DenseBackbone


@dataclass(frozen=True)
class Options:
    """What a user may choose.

    Attributes:
        seed: Of what is drawn at random.
    """

    seed: int = 0


@dataclass(frozen=True)
class Finding:
    """What was measured on one backbone: plain numbers for a JSON file, and whatever its picture is drawn from."""

    numbers: Any
    shown: Any


@dataclass(frozen=True)
class Diagnostic:
    """One diagnostic.

    Attributes:
        measure: Takes a backbone in eval mode, normalised images (3, H, W) and the options.
        draw: Writes the picture of all backbones' ``shown``.
    """

    measure: Callable[[DenseBackbone, Sequence[Tensor], Options], Finding]
    draw: Callable[[dict[str, Any], Path], None]


def _receptive_field(backbone: DenseBackbone, images: Sequence[Tensor], options: Options) -> Finding:
    fields = receptive_field.receptive_fields(backbone, images, seed=options.seed)
    return Finding(receptive_field.describe(fields, backbone.strides), (fields, backbone.strides))


#: Name -> diagnostic.
DIAGNOSTICS: dict[str, Diagnostic] = {
    "receptive-field": Diagnostic(_receptive_field, receptive_field.draw),
}
