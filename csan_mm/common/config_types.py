"""What a config says, whatever its style: types by name or, in pure-Python configs, as classes; data sets in wrappers."""

from collections.abc import Iterator
from typing import Any

from mmengine.config import Config, ConfigDict

#: The OpenMMLab libraries whose models csan_mm's tools know.
LIBRARIES = ("mmdet", "mmseg", "mmpretrain")


def type_name(kind: Any) -> str:
    """The bare name of a ``type``: 'RandomCrop' for 'mmdet.RandomCrop', for the class itself, and for a lazily imported one."""
    name = getattr(kind, "__name__", None) or getattr(kind, "name", None) or str(kind)
    return name.rpartition(".")[2]


def library_of(cfg: Config) -> str | None:
    """The library a config is written for: its ``default_scope``, else the one its model's type comes from, else None.

    A pure-Python config names classes and has ``default_scope = None``.
    """
    if cfg.get("default_scope"):
        return cfg.default_scope
    kind = (cfg.get("model") or {}).get("type")
    owner = getattr(kind, "__module__", None) if isinstance(kind, type) else str(kind)
    package = str(owner).partition(".")[0]
    return package if package in LIBRARIES else None


def inner_datasets(settings: ConfigDict, where: str) -> Iterator[tuple[str, ConfigDict]]:
    """The data sets inside RepeatDataset, ConcatDataset and other wrappers, or the one given.

    Args:
        settings: Config of a data set.
        where: Its place in the config.

    Yields:
        The place of each, as ``--cfg-options`` takes it, and its config.
    """
    if "dataset" in settings:
        yield from inner_datasets(settings.dataset, f"{where}.dataset")
    elif "datasets" in settings:
        for index, part in enumerate(settings.datasets):
            yield from inner_datasets(part, f"{where}.datasets.{index}")
    else:
        yield where, settings
