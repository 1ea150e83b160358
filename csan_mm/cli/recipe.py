"""A backbone of ours under the recipe of a convolutional one: said before the first iteration."""

from collections.abc import Iterator
from typing import Any

from mmengine.config import Config

from csan_mm.backbones.base import DenseBackbone
from csan_mm.registry import MODELS

SCHEDULE = "csan_mm::_base_/schedules/adamw_1x.py"


def describe_foreign_recipe(cfg: Config) -> str | None:
    """The warning for SGD with a backbone of ours, or ``None``.

    Two recipes with SGD are left alone: mmdet's for RetinaNet with Swin at 0.01 (its retinanet_swin-t-p4-w7_fpn_1x_coco), and
    the authors' for the CBT decoder.

    Args:
        cfg: The config of a training.
    """
    optimizer = (cfg.get("optim_wrapper") or {}).get("optimizer") or {}
    kind, rate = _name(optimizer.get("type")), optimizer.get("lr")
    backbone = next(_own_backbones(cfg.model), None)
    if backbone is None or kind != "SGD" or _name((cfg.model.get("decode_head") or {}).get("type")) == "CBTHead":
        return None
    if _name(cfg.model.get("type")) == "RetinaNet" and rate == 0.01:
        return None
    return (
        f"{backbone} is trained with SGD, lr={rate}, which is the recipe of a convolutional backbone; the papers use AdamW, with "
        f"no weight decay of norms, biases and positions. Inherit {SCHEDULE!r} in place of your schedule"
    )


def _own_backbones(settings: Any) -> Iterator[str]:
    if isinstance(settings, dict):
        name = _name(settings.get("type"))
        known = MODELS.module_dict.get(name)
        if isinstance(known, type) and issubclass(known, DenseBackbone):
            yield name
        for value in settings.values():
            yield from _own_backbones(value)
    elif isinstance(settings, (list, tuple)):
        for value in settings:
            yield from _own_backbones(value)


def _name(kind: Any) -> str:
    """'mmdet.RetinaNet', or the class itself in a pure-Python config: 'RetinaNet'."""
    return kind.rpartition(".")[2] if isinstance(kind, str) else getattr(kind, "__name__", "")
