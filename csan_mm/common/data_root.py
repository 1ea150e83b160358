"""One place for a config's data: the top-level ``data_root``."""

from typing import Any

from mmengine.config import Config


def override_data_root(cfg: Config, old: str, new: str) -> None:
    """Move a config's data to another folder, in place.

    A config's data sets and metrics hold their own copies of its top-level ``data_root``, so setting that one alone (as
    ``--cfg-options data_root=DIR`` does) changes nothing. This rewrites every setting that is the old root or lies in it:
    the ``data_root`` of data sets, the ``ann_file`` of metrics, and those inside wrapped data sets.

    Args:
        cfg: The config.
        old: ``data_root`` before the change.
        new: The folder that takes its place.

    Example:
        >>> cfg = Config({'data_root': 'data/coco/', 'val_evaluator': {'ann_file': 'data/coco/annotations/val.json'}})
        >>> override_data_root(cfg, 'data/coco/', '/datasets/coco')
        >>> cfg.val_evaluator.ann_file
        '/datasets/coco/annotations/val.json'
    """
    old, new = old.rstrip("/"), new.rstrip("/") or "/"
    for key, value in list(cfg.items()):
        cfg[key] = _moved(value, old, new)


def _moved(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return type(value)({key: _moved(entry, old, new) for key, entry in value.items()})
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(entry, old, new) for entry in value)
    if isinstance(value, str) and (value == old or value.startswith(old + "/")):
        return new + value[len(old) :]
    return value
