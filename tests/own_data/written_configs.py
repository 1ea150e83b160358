"""What tests of new-config do with each: write it, and open its data sets."""

from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.dataset import BaseDataset
from mmengine.registry import DATASETS, DefaultScope

import csan_mm


def write(data: Path, **options: Any) -> Config:
    """The config that is written, read again."""
    out = data.parent / "out" / "mine.py"
    csan_mm.new_config(data, out, gpus=0, force=True, **options)
    return Config.fromfile(out)


def opened(cfg: Config, part: str) -> BaseDataset:
    """The data set of its library, mmdet or mmseg, read to its end."""
    with DefaultScope.overwrite_default_scope(cfg.default_scope):
        return DATASETS.build(cfg[f"{part}_dataloader"].dataset)
