"""What train.py and test.py ask of the data before they write anything."""

from collections.abc import Sequence
from pathlib import Path

from mmengine.config import Config

from csan_mm.common.config import DATALOADERS
from csan_mm.common.errors import UserError
from csan_mm.preflight.datasets import dataset_settings, evaluator_files, missing_paths, open_dataset
from csan_mm.preflight.images import first_unreadable
from csan_mm.preflight.samples import list_samples


def require_data(cfg: Config, loaders: Sequence[str]) -> None:
    """Check that the folders and annotation files of data loaders exist.

    Args:
        cfg: The config.
        loaders: Names of the data loaders.

    Raises:
        UserError: One is missing.
    """
    for where, settings in dataset_settings(cfg, loaders):
        option = "data_root" if cfg.get("data_root") else f"{where}.data_root"
        for setting, path in missing_paths(open_dataset(cfg, where, settings)):
            raise UserError(
                f"{path} does not exist ({setting} of {where}): put the data there, or name their place with "
                f"--cfg-options {option}=DIR or in {cfg.filename}"
            )
    for loader in loaders:
        evaluator = loader.replace("dataloader", "evaluator")
        for path in evaluator_files(cfg, evaluator):
            if not Path(path).exists():
                raise UserError(f"{path} does not exist (ann_file of {evaluator}): correct it in {cfg.filename}")


def find_bad_image(cfg: Config | None) -> str | None:
    """The first file of the config's data sets that is not a readable image; for errors that do not name it."""
    if cfg is None:
        return None
    for where, settings in dataset_settings(cfg, DATALOADERS):
        samples = list_samples(open_dataset(cfg, where, settings))
        found = first_unreadable(path for sample in samples for path in sample.files)
        if found:
            return found
    return None
