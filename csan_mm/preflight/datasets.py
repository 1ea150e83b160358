"""The data sets of a config: opened without reading their annotations, with every path joined as in training."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmengine.config import Config, ConfigDict
from mmengine.dataset import BaseDataset
from mmengine.registry import DATASETS, DefaultScope

from csan_mm.common.config_types import inner_datasets
from csan_mm.preflight.evaluators import evaluator_settings

#: A path that no local file system answers for.
_REMOTE = "://"

#: Keys of ``data_prefix`` under which label maps lie: read only where the pipeline loads annotations.
_LABEL_MAPS = ("seg_map_path", "seg")


@dataclass(frozen=True)
class OpenedDataset:
    """A data set of one data loader.

    Args:
        where: Its place in the config, e.g. ``train_dataloader.dataset``.
        settings: Its config.
        dataset: It, not yet read; None where the class is not one of mmengine's BaseDataset.
    """

    where: str
    settings: ConfigDict
    dataset: BaseDataset | None

    def is_a(self, *class_names: str) -> bool:
        """Whether a class of this name is among its ancestors; the class's package need not be importable."""
        return any(kind.__name__ in class_names for kind in type(self.dataset).__mro__)

    @property
    def classes(self) -> Any:
        """``metainfo['classes']`` as the data set understood it, or None."""
        return self.dataset.metainfo.get("classes") if self.dataset is not None else None


def dataset_settings(cfg: Config, loaders: Sequence[str]) -> Iterator[tuple[str, ConfigDict]]:
    """Place and config of the data sets of data loaders, each distinct one once; loaders that are not set are passed over."""
    seen: list[ConfigDict] = []
    for loader in loaders:
        outer = (cfg.get(loader) or {}).get("dataset")
        for where, settings in inner_datasets(outer, f"{loader}.dataset") if outer else ():
            if settings not in seen:
                seen.append(settings)
                yield where, settings


def open_dataset(cfg: Config, where: str, settings: ConfigDict) -> OpenedDataset:
    """Open a data set without reading its annotations.

    Args:
        cfg: The whole config; its ``default_scope`` is where types are looked for.
        where: The data set's place in it.
        settings: The data set's config.

    Raises:
        KeyError: A type in it is not registered.
        Exception: What the data set's own constructor raises.
    """
    scope = cfg.get("default_scope") or "mmengine"
    with DefaultScope.overwrite_default_scope(scope), DATASETS.switch_scope_and_registry(None) as registry:
        kind = registry.get(settings.type) if isinstance(settings.type, str) else settings.type
        if isinstance(kind, type) and not issubclass(kind, BaseDataset):
            return OpenedDataset(where, settings, None)
        return OpenedDataset(where, settings, registry.build({**settings, "lazy_init": True}))


def missing_paths(opened: OpenedDataset) -> Iterator[tuple[str, str]]:
    """Folders and annotation files that a data set names and that do not exist, as (setting, path)."""
    if opened.dataset is None or opened.settings.get("backend_args"):
        return
    dataset = opened.dataset
    named = {"ann_file": dataset.ann_file} if dataset.ann_file else {}
    prefixes = dataset.data_prefix if isinstance(dataset.data_prefix, dict) else {"": dataset.data_prefix}
    read = [key for key in prefixes if key not in _LABEL_MAPS or _reads_label_maps(dataset)]
    named |= {f"data_prefix {key}".strip(): prefixes[key] for key in read if prefixes[key]}
    for setting, path in named.items():
        if isinstance(path, str) and _REMOTE not in path and not Path(path).exists():
            yield setting, path


def _reads_label_maps(dataset: BaseDataset) -> bool:
    return any(getattr(step, "with_seg", False) for step in dataset.pipeline.transforms)


def evaluator_files(cfg: Config, name: str) -> Iterator[str]:
    """Annotation files that the metrics of ``val_evaluator`` or ``test_evaluator`` read."""
    for evaluator in evaluator_settings(cfg, name):
        path = evaluator.get("ann_file")
        if path and _REMOTE not in path:
            yield path
