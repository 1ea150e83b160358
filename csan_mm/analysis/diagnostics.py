"""The diagnostics by name, all called alike: what ``csan_mm diagnose`` runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from csan_mm.analysis import (
    attention_rows,
    budget,
    compression,
    csan_gains,
    dynamic_weights,
    receptive_field,
    representatives,
)
from csan_mm.backbones.base import DenseBackbone


@dataclass(frozen=True)
class Options:
    """What a user may choose.

    Attributes:
        seed: Of what is drawn at random.
        labels: One label map (H, W) per image, for what is compared with labels.
    """

    seed: int = 0
    labels: Sequence[Tensor] | None = None


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


def _budget(backbone: DenseBackbone, images: Sequence[Tensor], options: Options) -> Finding:
    return Finding(*budget.measure(backbone, images, options.seed))


def _representatives(backbone: DenseBackbone, images: Sequence[Tensor], options: Options) -> Finding:
    return Finding(*representatives.measure(backbone, images, options.labels))


def _plain(measure: Callable[..., tuple[Any, Any]]) -> Callable[[DenseBackbone, Sequence[Tensor], Options], Finding]:
    """A diagnostic without options."""
    return lambda backbone, images, _: Finding(*measure(backbone, images))


#: Name -> diagnostic.
DIAGNOSTICS: dict[str, Diagnostic] = {
    "attention-rows": Diagnostic(_plain(attention_rows.measure), attention_rows.draw),
    "budget-dilemma": Diagnostic(_budget, budget.draw),
    "coding-rate": Diagnostic(_plain(compression.measure), compression.draw),
    "csan-gains": Diagnostic(_plain(csan_gains.measure), csan_gains.draw),
    "dynamic-weights": Diagnostic(_plain(dynamic_weights.measure), dynamic_weights.draw),
    "receptive-field": Diagnostic(_receptive_field, receptive_field.draw),
    "representatives": Diagnostic(_representatives, representatives.draw),
}
