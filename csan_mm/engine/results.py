"""What test.py writes beside the metrics: label maps of a segmentor, and pictures of any model, one file for each image."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mmcv
import numpy as np
from mmengine.dataset import BaseDataset
from mmengine.evaluator import BaseMetric
from mmengine.fileio import get
from mmengine.hooks import Hook
from mmengine.runner import Runner
from PIL import Image

from csan_mm.common.result_names import result_names, with_ending


class ResultNames:
    """The names of all images of a data set, known to every process alike.

    Args:
        dataset: mmengine's BaseDataset, or a wrapper of some. Of another kind, or for an image it does not list, a name is made
            from the whole path.
    """

    def __init__(self, dataset: Any) -> None:
        self._names: dict[str, Path] = {}
        self._dataset = dataset

    def __getitem__(self, path: str) -> Path:
        if not self._names:
            self._names = result_names(_image_paths(self._dataset))
        return self._names.get(path) or Path(os.path.abspath(path).lstrip("/")).with_suffix("")


class LabelMaps(BaseMetric):
    """No metric: writes each image's predicted label map as a PNG, in the numbering of the annotations.

    Args:
        folder: Where to.
        names: The images' names.
    """

    def __init__(self, folder: Path, names: ResultNames) -> None:
        super().__init__()
        self.folder, self.names = folder, names

    def process(self, data_batch: Any, data_samples: Sequence[dict[str, Any]]) -> None:
        """Write those of one batch."""
        for sample in data_samples:
            labels = sample["pred_sem_seg"]["data"].squeeze(0).cpu().numpy()
            shift = int(bool(sample.get("reduce_zero_label", False)))  # files count from 1 then, and 0 is "ignore"
            path = self.folder / with_ending(self.names[sample["img_path"]], ".png")
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(as_label_image(labels + shift)).save(path)
            self.results.append(None)  # BaseMetric warns of none

    def compute_metrics(self, results: list[Any]) -> dict[str, float]:
        """None."""
        return {}


def as_label_image(labels: np.ndarray) -> np.ndarray:
    """Labels in the smallest type a PNG has for them: uint8, or uint16 from 256."""
    return labels.astype(np.uint8 if labels.max(initial=0) < 256 else np.uint16)


class DrawResults(Hook):
    """Draws ground truth and prediction of every test image as ``folder``/NAME.png.

    Args:
        folder: Where to.
        names: The images' names.
        score_thr: Boxes of a detector below are left out. Default: 0.3.
    """

    priority = "NORMAL"

    def __init__(self, folder: Path, names: ResultNames, score_thr: float = 0.3) -> None:
        self.folder, self.names, self.score_thr = folder, names, score_thr
        self._without_path = 0

    def after_test_iter(
        self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: Sequence[Any] | None = None
    ) -> None:
        """Draw those of one batch."""
        for index, sample in enumerate(outputs or ()):
            self._draw(runner.visualizer, sample, data_batch, index)

    def _draw(self, visualizer: Any, sample: Any, batch: Any, index: int) -> None:
        path = sample.get("img_path")
        if path is None:  # a data set that holds its images in memory
            image = batch["inputs"][index].permute(1, 2, 0).cpu().numpy().astype(np.uint8)
            name = Path(f"{self._without_path:06d}")
            self._without_path += 1
        else:
            image = mmcv.imfrombytes(get(path), channel_order="rgb")
            name = self.names[path]
        target = self.folder / with_ending(name, ".png")
        target.parent.mkdir(parents=True, exist_ok=True)
        options: dict[str, Any] = {"show": False, "out_file": str(target)}
        if hasattr(visualizer, "visualize_cls"):
            visualizer.visualize_cls(image, sample, **options)
        else:
            options |= {"pred_score_thr": self.score_thr} if "pred_instances" in sample else {}
            visualizer.add_datasample(str(name), image, data_sample=sample, **options)


def _image_paths(dataset: Any) -> list[str]:
    parts = getattr(dataset, "datasets", None) or ([dataset.dataset] if hasattr(dataset, "dataset") else [])
    if parts:
        return [path for part in parts for path in _image_paths(part)]
    if not isinstance(dataset, BaseDataset):
        return []
    infos = (dataset.get_data_info(index) for index in range(len(dataset)))
    return [info["img_path"] for info in infos if "img_path" in info]
