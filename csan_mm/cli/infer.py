"""Predictions on pictures, as tools/infer.py starts it: drawn, and as JSON beside."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import Compose, pseudo_collate
from mmengine.registry import DATASETS, VISUALIZERS, init_default_scope
from mmengine.structures import BaseDataElement
from mmengine.utils import ProgressBar
from PIL import Image

from csan_mm.checkpoint.files import replacing
from csan_mm.cli.errors import error_border
from csan_mm.cli.models import load_model
from csan_mm.cli.pictures import UnreadableImageError, find_images, read_image
from csan_mm.common.config import read_config, require_writable
from csan_mm.common.errors import UserError

SCOPES = ("mmdet", "mmseg")


def run(args: argparse.Namespace) -> int:
    """Predict on ``args.images`` and write ``args.out``/vis and ``args.out``/preds.

    Args:
        args: What tools/infer.py parsed: ``images``, ``config``, ``checkpoint``, ``out``, ``device``, ``batch_size``,
            ``score_thr``, ``trust``.

    Returns:
        0, or 1 where an image could not be read.

    Raises:
        SystemExit: With one sentence on stderr, where a user can mend the cause.
    """
    with error_border(args.config):
        images = find_images(args.images)
        require_writable(Path(args.out), "--out")
        cfg = read_config(args.config)
        predictor = Predictor(cfg, args.checkpoint, args.device, args.score_thr, args.trust)
        unreadable = predict_all(predictor, images, Path(args.out), args.batch_size)
    for reason in unreadable:
        sys.stderr.write(f"warning: {reason}: skipped\n")
    done = len(images) - len(unreadable)
    print(f"{done} of {len(images)} images: {Path(args.out) / 'vis'}, {Path(args.out) / 'preds'}")
    return 1 if unreadable else 0


def predict_all(predictor: "Predictor", images: list[tuple[Path, Path]], out: Path, batch_size: int) -> list[str]:
    """Predict in batches with a progress bar; returns why images were left out."""
    unreadable: list[str] = []
    bar = ProgressBar(len(images), file=sys.stderr)
    for batch in _batches(predictor, images, batch_size, unreadable, bar):
        results = predictor([inputs for _, _, inputs in batch])
        for (name, pixels, _), result in zip(batch, results):
            predictor.write(name, pixels, result, out)
            bar.update()
    sys.stderr.write("\n")
    return unreadable


def _batches(
    predictor: "Predictor", images: list[tuple[Path, Path]], batch_size: int, unreadable: list[str], bar: ProgressBar
) -> Iterator[list[tuple[Path, np.ndarray, dict[str, Any]]]]:
    """Names, images and what the test pipeline makes of them."""
    batch: list[tuple[Path, np.ndarray, dict[str, Any]]] = []
    for path, name in images:
        try:
            pixels = read_image(path)
            batch.append((name, pixels, predictor.prepare(pixels)))
        except UnreadableImageError as error:
            unreadable.append(str(error))
            bar.update()
        except cv2.error as error:  # a side so short that a resize leaves nothing of it
            height, width = pixels.shape[:2]
            reason = str(error).strip().splitlines()[0]
            unreadable.append(f"{path}, {height} x {width}, does not pass the config's test pipeline ({reason})")
            bar.update()
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch:
        yield batch


class Predictor:
    """A detector or segmentor with its test pipeline and visualizer.

    Args:
        cfg: Its config.
        checkpoint: Its file, read without unpickling.
        device: 'cpu', 'cuda', 'cuda:1', ...; ``None``: CUDA where there is one.
        score_thr: Detections below are neither drawn nor written.
        trust: Unpickle a file that cannot be read otherwise.

    Raises:
        UserError: A config of another scope.
        FileNotFoundError, CheckpointError: The checkpoint is missing or does not fit.
    """

    def __init__(self, cfg: Config, checkpoint: str, device: str | None, score_thr: float, trust: bool = False) -> None:
        self.scope = cfg.get("default_scope")
        if self.scope not in SCOPES:
            raise UserError(f"{cfg.filename} has default_scope {self.scope!r}: give that of a detector or segmentor")
        init_default_scope(self.scope)
        if self.scope == "mmdet":
            import mmdet.models
            import mmdet.visualization  # noqa: F401
        else:
            import mmseg.models
            import mmseg.visualization  # noqa: F401
        self.score_thr = score_thr
        self.model, about = load_model(cfg, checkpoint, trust)
        self.model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
        self.meta = _dataset_meta(cfg, about)
        self.pipeline = Compose(_pipeline(cfg, self.scope))
        self.visualizer = VISUALIZERS.build({**cfg.visualizer, "name": "infer", "vis_backends": None, "save_dir": None})
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

    def write(self, name: Path, image: np.ndarray, result: BaseDataElement, out: Path) -> None:
        """Draw a result into ``out``/vis and describe it in ``out``/preds, under the image's own name."""
        vis, preds = out / "vis" / name.with_suffix(name.suffix + ".png"), out / "preds" / name
        preds.parent.mkdir(parents=True, exist_ok=True)
        vis.parent.mkdir(parents=True, exist_ok=True)
        extra = {"pred_score_thr": self.score_thr} if self.scope == "mmdet" else {}
        self.visualizer.add_datasample(
            str(name),
            image[:, :, ::-1],
            data_sample=result.cpu(),
            draw_gt=False,
            show=False,
            out_file=str(vis),
            **extra,
        )
        found = self._detections(result) if self.scope == "mmdet" else self._segments(result, preds)
        target = preds.with_suffix(preds.suffix + ".json")
        with replacing(target) as temporary:
            temporary.write_text(json.dumps({"image": str(name), **found}, indent=1))

    def _detections(self, result: BaseDataElement) -> dict[str, Any]:
        instances = result.pred_instances
        instances = instances[instances.scores >= self.score_thr].cpu()
        boxes, scores, labels = instances.bboxes.tolist(), instances.scores.tolist(), instances.labels.tolist()
        classes = self.meta["classes"]
        return {
            "detections": [
                {
                    "bbox": [round(side, 2) for side in box],
                    "score": round(score, 4),
                    "label": label,
                    "class": classes[label],
                }
                for box, score, label in zip(boxes, scores, labels)
            ]
        }

    def _segments(self, result: BaseDataElement, preds: Path) -> dict[str, Any]:
        labels = result.pred_sem_seg.data.squeeze(0).cpu().numpy()
        path = preds.with_suffix(preds.suffix + ".png")
        with replacing(path) as temporary:
            Image.fromarray(labels.astype(np.uint8 if labels.max() < 256 else np.uint16)).save(temporary, format="PNG")
        values, counts = np.unique(labels, return_counts=True)
        shares = {
            self.meta["classes"][value]: round(float(count / labels.size), 6) for value, count in zip(values, counts)
        }
        return {"label_map": path.name, "classes": shares}


def _dataset_meta(cfg: Config, about: dict[str, Any]) -> dict[str, Any]:
    """Class names and colours: the checkpoint's own, else the config's data set's."""
    stored = about.get("dataset_meta")
    dataset = cfg.test_dataloader.dataset
    known = getattr(DATASETS.get(dataset.type), "METAINFO", {})
    return {**known, **(dataset.get("metainfo") or {}), **(stored or {})}


def _pipeline(cfg: Config, scope: str) -> list[dict[str, Any]]:
    """The test pipeline, from pixels in memory and without annotations."""
    steps = cfg.test_dataloader.dataset.pipeline
    return [{"type": f"{scope}.LoadImageFromNDArray"}] + [step for step in steps if not step["type"].startswith("Load")]
