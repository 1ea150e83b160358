"""The files of a data set, as its images and label maps, without decoding any."""

import gc
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import path as osp
from typing import Any

from csan_mm.preflight.datasets import OpenedDataset


@dataclass(frozen=True, slots=True)
class Sample:
    """One entry of a data set.

    Args:
        image: Path of its image.
        label_map: Path of its segmentation label map. Default: it has none.
        size: (width, height) that the annotations state. Default: they state none.
    """

    image: str
    label_map: str | None = None
    size: tuple[int, int] | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """All its files."""
        return (self.image,) if self.label_map is None else (self.image, self.label_map)


def list_samples(opened: OpenedDataset) -> list[Sample]:
    """The samples of a data set in COCO, ADE20K / Cityscapes or ImageNet form; empty for other forms.

    Raises:
        OSError, ValueError, AssertionError, RuntimeError: The annotations cannot be read.
    """
    if opened.is_a("CocoDataset"):
        return list(coco_samples(read_json(opened.dataset.ann_file)["images"], opened.dataset.data_prefix["img"]))
    if opened.is_a("BaseSegDataset", "CustomDataset", "ImageNet"):
        return [Sample(entry["img_path"], entry.get("seg_map_path")) for entry in opened.dataset.load_data_list()]
    return []


def read_json(path: str) -> Any:
    """The content of a JSON file, opened as pycocotools does.

    Raises:
        OSError, ValueError, RecursionError: It cannot be read.
    """
    collecting = gc.isenabled()
    gc.disable()  # millions of new objects and no garbage: its passes would double the time
    try:
        with open(path) as file:
            return json.load(file)
    finally:
        if collecting:
            gc.enable()


def coco_samples(images: Iterable[dict], folder: str) -> Iterator[Sample]:
    """The images of a COCO annotation file.

    Args:
        images: Its list of them.
        folder: The one they lie in.
    """
    for image in images:
        yield Sample(osp.join(folder, image["file_name"]), size=(image["width"], image["height"]))
