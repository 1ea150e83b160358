"""From a config to the model it describes, and the image size it is about, without any data."""

import importlib
from typing import Any

from mmengine.config import Config
from mmengine.registry import MODELS, DefaultScope
from torch import nn

from csan_mm.common.config_types import inner_datasets, library_of, type_name
from csan_mm.engine.resume import read_checkpoints_safely

#: mmdet's usual size, where training takes no crop.
DETECTION_SHAPE = (800, 1280)

#: Transforms that give an image its size in training, and their argument.
CROPS = {"RandomResizedCrop": "scale", "RandomCrop": "crop_size"}


def build_model(cfg: Config, trust: bool = False) -> nn.Module:
    """The model of a config, with fresh weights.

    Args:
        cfg: The config. Nothing is loaded or downloaded, unless its model does so when it is built, as one does that learns
            from a trained teacher.
        trust: Unpickle such a file where it cannot be read otherwise, which runs the code in it. Default: False.
    """
    read_checkpoints_safely(trust)
    scope = library_of(cfg) or "mmengine"
    if scope != "mmengine":
        importlib.import_module(f"{scope}.models")
    with DefaultScope.overwrite_default_scope(scope):
        return MODELS.build(cfg.model)


def training_shape(cfg: Config) -> tuple[int, int]:
    """(H, W) of the crops a config trains on, or to which a segmentor's preprocessor pads; else 800 x 1280."""
    for transform in _pipeline(cfg.get("train_dataloader") or {}):
        name = type_name(transform.get("type"))
        if name in CROPS and CROPS[name] in transform:
            size = transform[CROPS[name]]
            return (size, size) if isinstance(size, int) else (size[0], size[1])
    padded = cfg.model.get("data_preprocessor", {}).get("size")
    return DETECTION_SHAPE if padded is None else (padded[0], padded[1])


def _pipeline(loader: dict[str, Any]) -> list[dict[str, Any]]:
    """The transforms of a data loader, those of wrapped data sets included."""
    dataset = loader.get("dataset")
    if not dataset:
        return []
    own = dataset.get("pipeline") or []  # of a wrapper that mixes images
    return [*own, *(step for _, inner in inner_datasets(dataset, "") for step in inner.get("pipeline") or [])]
