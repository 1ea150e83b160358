"""Predictions on pictures and videos, as ``csan_mm infer`` starts it: drawn, and as JSON beside."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from mmengine.utils import ProgressBar

from csan_mm.cli.errors import error_border
from csan_mm.cli.pictures import UnreadableImageError, find_images, read_image
from csan_mm.cli.predictor import Predictor
from csan_mm.cli.video import is_video, predict_video
from csan_mm.common.config import merge_options, read_config, require_writable
from csan_mm.common.result_names import short_names


def run(args: argparse.Namespace) -> int:
    """Predict on ``args.images`` and write ``args.out``/vis and ``args.out``/preds.

    Args:
        args: What the command parsed: ``images``, ``config``, ``checkpoint``, ``out``, ``device``, ``batch_size``,
            ``score_thr``, ``trust``, ``cfg_options``.

    Returns:
        0, or 1 where an image or a video could not be read.

    Raises:
        SystemExit: With one sentence on stderr, where a user can mend the cause.
    """
    with error_border(args.config):
        found = find_images(args.images)
        out = Path(args.out)
        require_writable(out, "--out")
        cfg = read_config(args.config)
        merge_options(cfg, args.cfg_options)
        predictor = Predictor(cfg, args.checkpoint, args.device, args.score_thr, args.trust)
        results = dict(zip((file for file, _ in found), short_names([name for _, name in found])))
        images = [(file, name) for file, name in found if not is_video(file)]
        unreadable = predict_all(predictor, images, results, out, args.batch_size) if images else []
        for file, name in found:
            if is_video(file):
                unreadable += predict_video(predictor, file, name, results[file], out, args.batch_size)
    for reason in unreadable:
        sys.stderr.write(f"warning: {reason}\n")
    done = len(found) - len(unreadable)
    print(f"{done} of {len(found)} images{' and videos' * (len(images) < len(found))}: {out / 'vis'}, {out / 'preds'}")
    return 1 if unreadable else 0


def predict_all(
    predictor: Predictor, images: list[tuple[Path, Path]], results: dict[Path, Path], out: Path, batch_size: int
) -> list[str]:
    """Predict in batches with a progress bar; returns why images were left out."""
    unreadable: list[str] = []
    bar = ProgressBar(len(images), file=sys.stderr)
    for batch in _batches(predictor, images, batch_size, unreadable, bar):
        predicted = predictor([inputs for _, _, _, inputs in batch])
        for (file, name, pixels, _), result in zip(batch, predicted):
            predictor.write(name, results[file], pixels, result, out)
            bar.update()
    sys.stderr.write("\n")
    return unreadable


def _batches(
    predictor: Predictor, images: list[tuple[Path, Path]], batch_size: int, unreadable: list[str], bar: ProgressBar
) -> Iterator[list[tuple[Path, Path, np.ndarray, dict[str, Any]]]]:
    """Files, names, images and what the test pipeline makes of them."""
    batch: list[tuple[Path, Path, np.ndarray, dict[str, Any]]] = []
    for path, name in images:
        try:
            pixels = read_image(path)
            batch.append((path, name, pixels, predictor.prepare(pixels)))
        except UnreadableImageError as error:
            unreadable.append(f"{error}: skipped")
            bar.update()
        except cv2.error as error:  # a side so short that a resize leaves nothing of it
            height, width = pixels.shape[:2]
            reason = str(error).strip().splitlines()[0]
            unreadable.append(
                f"{path}, {height} x {width}, does not pass the config's test pipeline ({reason}): skipped"
            )
            bar.update()
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch:
        yield batch
