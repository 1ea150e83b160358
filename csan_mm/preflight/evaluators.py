"""The metrics of a config that read annotation files themselves."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mmengine.config import Config


@dataclass(frozen=True)
class CocoEvaluation:
    """A CocoMetric.

    Args:
        where: Its place in the config.
        path: The file it scores against; None where it makes one from the data set's own instances.
        metrics: 'bbox', 'segm', ...
        format_only: It writes results and scores nothing.
        classes: Names of the classes it scores, or None.
    """

    where: str
    path: str | None
    metrics: tuple[str, ...]
    format_only: bool
    classes: Any = None


def evaluator_settings(cfg: Config, name: str) -> Iterator[dict]:
    """The metrics of ``val_evaluator`` or ``test_evaluator``."""
    evaluators = cfg.get(name) or []
    yield from evaluators if isinstance(evaluators, (list, tuple)) else [evaluators]


def coco_evaluations(cfg: Config, split: str, classes: Any) -> Iterator[CocoEvaluation]:
    """The COCO metrics of a split.

    Args:
        cfg: The whole config.
        split: 'val' or 'test'.
        classes: Those of the split's data set.
    """
    for settings in evaluator_settings(cfg, f"{split}_evaluator"):
        kind = settings.get("type")
        name = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
        if name.rpartition(".")[2] == "CocoMetric":
            metric = settings.get("metric", "bbox")
            metrics = tuple(metric) if isinstance(metric, (list, tuple)) else (metric,)
            format_only = bool(settings.get("format_only", False))
            yield CocoEvaluation(f"{split}_evaluator", settings.get("ann_file"), metrics, format_only, classes)
