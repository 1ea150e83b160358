"""A video frame by frame, in constant memory: the results drawn in an .mp4, and one line of JSON for each frame."""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import cv2
import mmcv
import numpy as np

from csan_mm.checkpoint.files import replacing
from csan_mm.cli.pictures import VIDEO_SUFFIXES
from csan_mm.cli.predictor import Predictor
from csan_mm.common.errors import UserError
from csan_mm.common.result_names import with_ending

#: Frames per second where the file does not say. Ours.
USUAL_RATE = 25.0


def is_video(path: Path) -> bool:
    """Whether a file's suffix is a video's."""
    return path.suffix.lower() in VIDEO_SUFFIXES


def predict_video(
    predictor: Predictor, path: Path, name: Path, stem: Path, out: Path, batch_size: int = 1
) -> list[str]:
    """Predict on every frame and write ``out``/vis/STEM.mp4 and ``out``/preds/STEM.jsonl.

    Args:
        predictor: The model.
        path: The video.
        name: Its name, as the JSON gives it.
        stem: The results' name, without a suffix. A segmentor's label maps go into a folder ``out``/preds/STEM.
        out: The folder.
        batch_size: Frames at a time. Default: 1.

    Returns:
        Why nothing was written, or no more than a part, as one sentence; empty where all went well.
    """
    video = mmcv.VideoReader(str(path), cache_capacity=1)
    frames = _frames(video)
    first = next(frames, None)
    if first is None:
        return [f"{path} is not a readable video (no frame can be decoded): skipped"]
    drawn, lines = with_ending(out / "vis" / stem, ".mp4"), with_ending(out / "preds" / stem, ".jsonl")
    for target in (drawn, lines):
        target.parent.mkdir(parents=True, exist_ok=True)
    rate = video.fps if 0 < video.fps < 1000 else USUAL_RATE
    count = 0
    with replacing(lines) as temporary, temporary.open("w") as file, _Film(drawn, rate, first) as writer:
        for batch in _batches(first, frames, batch_size):
            for frame, result in zip(batch, predictor([predictor.prepare(frame) for frame in batch])):
                label_map = out / "preds" / stem / f"{count:06d}.png"
                if predictor.scope == "mmseg":
                    label_map.parent.mkdir(parents=True, exist_ok=True)
                found = predictor.describe(result, label_map)
                file.write(
                    json.dumps({"video": str(name), "frame": count, "time": round(count / rate, 3), **found}) + "\n"
                )
                writer.write(_sized(predictor.draw(frame, result), first))
                count += 1
            sys.stderr.write(f"\r{path}: {count} of {max(video.frame_cnt, count)} frames")
    sys.stderr.write("\n")
    if count < video.frame_cnt:
        return [f"{path} ends early: {count} of {video.frame_cnt} frames can be decoded, these were written"]
    return []


def _frames(video: mmcv.VideoReader) -> Iterator[np.ndarray]:
    """In their order, each (H, W, 3) uint8, OpenCV's channel order; the header's number of frames is not trusted."""
    while (frame := video.read()) is not None:
        yield frame


def _batches(first: np.ndarray, rest: Iterator[np.ndarray], size: int) -> Iterator[list[np.ndarray]]:
    batch = [first, *islice(rest, size - 1)]
    while batch:
        yield batch
        batch = list(islice(rest, size))


def _sized(image: np.ndarray, like: np.ndarray) -> np.ndarray:
    """An image in the film's size: a visualizer may round by a pixel, and a writer drops other sizes without a word."""
    if image.shape != like.shape:
        image = cv2.resize(image, (like.shape[1], like.shape[0]))
    return np.ascontiguousarray(image)


class _Film:
    """An .mp4 that takes its name when it is whole; ``replacing`` has no suffix, from which OpenCV tells the container."""

    def __init__(self, path: Path, rate: float, frame: np.ndarray) -> None:
        self.path = path
        self.temporary = path.with_name(f".{path.stem}.part.mp4")
        height, width = frame.shape[:2]
        self.stream = cv2.VideoWriter(str(self.temporary), cv2.VideoWriter_fourcc(*"mp4v"), rate, (width, height))
        if not self.stream.isOpened():
            raise UserError(f"this OpenCV writes no .mp4 ({path}): install opencv-python-headless from pip")

    def __enter__(self) -> cv2.VideoWriter:
        return self.stream

    def __exit__(self, kind: object, *_: object) -> None:
        self.stream.release()
        if kind is None:
            self.temporary.replace(self.path)
        else:
            self.temporary.unlink(missing_ok=True)
