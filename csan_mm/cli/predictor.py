"""A detector or segmentor from its config and checkpoint, and its results drawn and described."""

import importlib
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import Compose, pseudo_collate
from mmengine.logging import print_log
from mmengine.registry import DATASETS, VISUALIZERS, init_default_scope
from mmengine.structures import BaseDataElement
from PIL import Image
from pycocotools import mask as coco_mask

from csan_mm.checkpoint.files import replacing
from csan_mm.cli.models import load_model
from csan_mm.common.config_types import inner_datasets, library_of, type_name
from csan_mm.common.errors import UserError
from csan_mm.common.result_names import with_ending
from csan_mm.engine.results import as_label_image

#: Library -> what draws its results.
VISUALIZER = {"mmdet": "DetLocalVisualizer", "mmseg": "SegLocalVisualizer"}

#: Where class names and the test pipeline stand, the best place first.
_LOADERS = ("test_dataloader", "val_dataloader")


class Predictor:
    """A detector or segmentor with its test pipeline and visualizer.

    Args:
        cfg: Its config.
        checkpoint: Its file, read without unpickling.
        device: 'cpu', 'cuda', 'cuda:1', ...; ``None``: CUDA where there is one.
        score_thr: Detections below are neither drawn nor written.
        trust: Unpickle a file that cannot be read otherwise.

    Raises:
        UserError: A config of another library, or one without a test pipeline.
        FileNotFoundError, CheckpointError: The checkpoint is missing or does not fit.
    """

    def __init__(self, cfg: Config, checkpoint: str, device: str | None, score_thr: float, trust: bool = False) -> None:
        self.scope = library_of(cfg)
        if self.scope not in VISUALIZER:
            raise UserError(f"{cfg.filename} has default_scope {self.scope!r}: give that of a detector or segmentor")
        init_default_scope(self.scope)
        for part in ("datasets", "models", "visualization"):
            importlib.import_module(f"{self.scope}.{part}")
        self.score_thr = score_thr
        steps = _pipeline(cfg, self.scope)
        self.model, about = load_model(cfg, checkpoint, trust)
        self.model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
        self.meta = _dataset_meta(cfg, about)
        self.pipeline = Compose(steps)
        settings = cfg.get("visualizer") or {"type": VISUALIZER[self.scope]}
        self.visualizer = VISUALIZERS.build({**settings, "name": "infer", "vis_backends": None, "save_dir": None})
        self.visualizer.dataset_meta = self.meta

    def prepare(self, image: np.ndarray) -> dict[str, Any]:
        """An image (H, W, 3), uint8, OpenCV's channel order, through the test pipeline."""
        return self.pipeline({"img": image, "img_id": 0})

    @torch.no_grad()
    def __call__(self, inputs: list[dict[str, Any]]) -> list[BaseDataElement]:
        """Predict on prepared images."""
        # mmseg stacks what it gets and pads nothing: images of several sizes go one by one.
        together = self.scope == "mmdet" or len({item["inputs"].shape for item in inputs}) == 1
        batches = [inputs] if together else [[item] for item in inputs]
        return [result for batch in batches for result in self.model.test_step(pseudo_collate(batch))]

    def write(self, name: Path, stem: Path, image: np.ndarray, result: BaseDataElement, out: Path) -> None:
        """Draw a result as ``out``/vis/STEM.png and describe it in ``out``/preds/STEM.json.

        Args:
            name: The image's name, as the JSON gives it.
            stem: The result's name, without a suffix.
            image: (H, W, 3), uint8, OpenCV's channel order.
            result: What the model found in it.
            out: The folder.
        """
        preds = with_ending(out / "preds" / stem, ".json")
        preds.parent.mkdir(parents=True, exist_ok=True)
        self.draw(image, result, with_ending(out / "vis" / stem, ".png"))
        found = self.describe(result, with_ending(out / "preds" / stem, ".png"))
        with replacing(preds) as temporary:
            temporary.write_text(json.dumps({"image": str(name), **found}, indent=1))

    def draw(self, image: np.ndarray, result: BaseDataElement, target: Path | None = None) -> np.ndarray:
        """A result on its image, (H, W, 3) in OpenCV's channel order, written to ``target`` too where that is given."""
        if target is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
        self.visualizer.add_datasample(
            "infer",
            np.ascontiguousarray(image[:, :, ::-1]),
            data_sample=result.cpu(),
            draw_gt=False,
            show=False,
            out_file=None if target is None else str(target),
            **({"pred_score_thr": self.score_thr} if self.scope == "mmdet" else {}),
        )
        return self.visualizer.get_image()[:, :, ::-1]

    def describe(self, result: BaseDataElement, label_map: Path) -> dict[str, Any]:
        """What was found, ready for JSON.

        Args:
            result: What the model found.
            label_map: Where a segmentor's map of labels goes, a PNG; a detector writes none.

        Returns:
            ``detections``, each with ``bbox`` [x1, y1, x2, y2] in pixels, ``score``, ``label``, ``class`` and, of a model with
            masks, ``segmentation``, COCO's run lengths as pycocotools reads them; or ``label_map`` and ``classes``, the share of
            the image each has.
        """
        return self._detections(result) if self.scope == "mmdet" else self._segments(result, label_map)

    def _detections(self, result: BaseDataElement) -> dict[str, Any]:
        instances = result.pred_instances
        instances = instances[instances.scores >= self.score_thr].cpu()
        found = [
            {
                "bbox": [round(side, 2) for side in box],
                "score": round(score, 4),
                "label": label,
                "class": self._class(label),
            }
            for box, score, label in zip(
                instances.bboxes.tolist(), instances.scores.tolist(), instances.labels.tolist()
            )
        ]
        if "masks" in instances:
            for entry, mask in zip(found, instances.masks):
                entry["segmentation"] = run_lengths(np.asarray(mask))
        return {"detections": found}

    def _segments(self, result: BaseDataElement, path: Path) -> dict[str, Any]:
        labels = result.pred_sem_seg.data.squeeze(0).cpu().numpy()
        with replacing(path) as temporary:
            Image.fromarray(as_label_image(labels)).save(temporary, format="PNG")
        values, counts = np.unique(labels, return_counts=True)
        shares = {self._class(value): round(float(count / labels.size), 6) for value, count in zip(values, counts)}
        return {"label_map": path.name, "classes": shares}

    def _class(self, label: int) -> str:
        """A class's name; its number where the names are not known."""
        names = self.meta.get("classes") or ()
        return names[label] if label < len(names) else str(label)


def run_lengths(mask: np.ndarray) -> dict[str, Any]:
    """A mask (H, W), of bool or 0 and 1, as COCO's results have it: ``size`` [H, W] and the compressed ``counts`` as text."""
    encoded = coco_mask.encode(np.asfortranarray(mask, dtype=np.uint8))
    return {"size": [int(side) for side in encoded["size"]], "counts": encoded["counts"].decode("ascii")}


def _dataset_meta(cfg: Config, about: dict[str, Any]) -> dict[str, Any]:
    """Class names and colours: the checkpoint's own, else those of the config's first data set."""
    stored = about.get("dataset_meta")
    stored = json.loads(stored) if isinstance(stored, str) else stored
    meta = {**_config_meta(cfg), **(stored or {})}
    if not meta.get("classes"):
        print_log(
            f"neither the checkpoint nor {cfg.filename} names the classes: numbers are written",
            "current",
            logging.WARNING,
        )
    return meta


def _config_meta(cfg: Config) -> dict[str, Any]:
    for loader in (*_LOADERS, "train_dataloader"):
        outer = (cfg.get(loader) or {}).get("dataset")
        for _, dataset in inner_datasets(outer, loader) if outer else ():
            kind = DATASETS.get(dataset.type) if isinstance(dataset.type, str) else dataset.type
            return {**getattr(kind, "METAINFO", {}), **(dataset.get("metainfo") or {})}
    return {}


def _pipeline(cfg: Config, scope: str) -> list[dict[str, Any]]:
    """The test pipeline, from pixels in memory and without annotations."""
    loading = {"type": f"{scope}.LoadImageFromNDArray"}
    kept = []
    for step in _test_steps(cfg):
        name = type_name(step["type"])
        if name == "LoadImageFromFile" and step.get("to_float32"):
            loading["to_float32"] = True
        if not name.startswith("Load"):
            kept.append(step)
    return [loading, *kept]


def _test_steps(cfg: Config) -> list[dict[str, Any]]:
    for loader in _LOADERS:
        outer = (cfg.get(loader) or {}).get("dataset")
        for _, dataset in inner_datasets(outer, loader) if outer else ():
            if dataset.get("pipeline"):
                return dataset.pipeline
    if cfg.get("test_pipeline"):
        return cfg.test_pipeline
    raise UserError(
        f"{cfg.filename} says nowhere how images are prepared: set test_pipeline, or a test_dataloader that has one"
    )
