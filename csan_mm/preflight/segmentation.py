"""Segmentation in ADE20K's or Cityscapes' form: an image and a label PNG of the same size for each sample."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from csan_mm.common.findings import Finding, Severity
from csan_mm.common.picture_size import any_picture_size
from csan_mm.preflight.datasets import OpenedDataset
from csan_mm.preflight.images import (
    CURE_FILE,
    THREADS,
    Loader,
    absent,
    check_images,
    chosen,
    image_loader,
    picture_size,
    unreadable,
)
from csan_mm.preflight.progress import tracked
from csan_mm.preflight.samples import Sample, list_samples

_CURE_VALUES = "map the pixels to class indices (and ignored ones to the ignore index); mind reduce_zero_label"

#: mmseg writes this value for ignored pixels, whatever ``ignore_index`` is.
_IGNORED = 255


def check_segmentation(opened: OpenedDataset, quick: bool = False) -> Iterator[Finding]:
    """Everything about a segmentation data set: pairs, label maps, images.

    Args:
        opened: The data set.
        quick: Read a choice of the images and label maps only. Default: False.
    """
    where, dataset = opened.where, opened.dataset
    try:
        samples = list_samples(opened)
    except Exception as error:  # whatever the data set's own code raises
        place = dataset.ann_file or dataset.data_prefix.get("img_path")
        says = f"cannot be read ({type(error).__name__}: {error})"
        yield Finding(Severity.FAULT, str(place), says, "correct data_prefix or ann_file", where)
        return
    if not samples:
        place = dataset.ann_file or dataset.data_prefix.get("img_path")
        says = f"names no image (*{dataset.img_suffix})"
        yield Finding(Severity.FAULT, str(place), says, "correct data_prefix or img_suffix", where)
    images = image_loader(dataset.pipeline.transforms)
    step = next((step for step in dataset.pipeline.transforms if getattr(step, "with_seg", False)), None)
    if step is not None:
        yield from _check_label_maps(opened, samples, LabelReader(opened, step), images, quick)
    elif not dataset.test_mode and samples:
        yield Finding(Severity.NOTE, where, "its pipeline loads no label maps: none was looked at")
    yield from check_images(samples, where, images, quick)


class LabelReader:
    """Reads a label map as a pipeline's LoadAnnotations does.

    Args:
        opened: The data set.
        step: Its LoadAnnotations.
    """

    def __init__(self, opened: OpenedDataset, step: Any) -> None:
        dataset = opened.dataset
        self.loader = Loader("unchanged", step.imdecode_backend)
        own = getattr(step, "reduce_zero_label", None)
        self.reduce = bool(dataset.reduce_zero_label if own is None else own)
        self.label_map = dataset.label_map
        self.classes = None if isinstance(opened.classes, str) else opened.classes
        self.ignored = {dataset.ignore_index, _IGNORED}

    def classes_of(self, values: np.ndarray) -> np.ndarray:
        """What training sees for pixel values: 8 bits, zero reduced, classes mapped; (N,) in, (N,) uint8 out."""
        seen = values.astype(np.uint8)
        if self.reduce:
            seen[seen == 0] = 255
            seen = seen - 1
            seen[seen == 254] = 255
        if self.label_map is not None:
            before = seen.copy()
            for old, new in self.label_map.items():
                seen[before == old] = new
        return seen

    def check(self, sample: Sample, where: str, images: Loader) -> tuple[list[Finding], set[int]]:
        """Findings about one label map, and what training sees in it."""
        path = sample.label_map
        if trouble := unreadable(path, self.loader):
            return [Finding(Severity.FAULT, path, trouble, CURE_FILE, where)], set()
        pixels = self.loader(path).squeeze()
        if pixels.ndim != 2:
            channels = pixels.shape[2] if pixels.ndim == 3 else 0
            says = f"is a colour picture ({channels} channels), not a map of class indices"
            cure = "write one channel whose values are class indices"
            return [Finding(Severity.FAULT, path, says, cure, where)], set()
        values = np.unique(pixels)
        seen = self.classes_of(values)
        findings = []
        if trouble := self._values_trouble(values, seen):
            findings.append(Finding(Severity.FAULT, path, trouble, _CURE_VALUES, where))
        height, width = pixels.shape
        if not unreadable(sample.image, images) and (size := picture_size(sample.image, images)) != (width, height):
            says = f"is {width}x{height} and its image {size[0]}x{size[1]}"
            findings.append(Finding(Severity.FAULT, path, says, "make the two sizes equal", where))
        return findings, set(seen.tolist())

    def _values_trouble(self, values: np.ndarray, seen: np.ndarray) -> str | None:
        cut = values != values.astype(np.uint8)
        if cut.any():
            pairs = [f"{value} as {value.astype(np.uint8)}" for value in values[cut][:5]]
            return f"has values that 8 bits do not hold: training reads {', '.join(pairs)}"
        if self.classes is None:
            return None
        allowed = self.ignored | set(range(len(self.classes)))
        wrong = [value for value, label in zip(values.tolist(), seen.tolist()) if label not in allowed]
        if not wrong:
            return None
        return f"has values outside the classes: {', '.join(map(str, wrong[:5]))}{', ...' if len(wrong) > 5 else ''}"


def _check_label_maps(
    opened: OpenedDataset, samples: list[Sample], reader: LabelReader, images: Loader, quick: bool
) -> Iterator[Finding]:
    where, labelled = opened.where, [sample for sample in samples if sample.label_map is not None]
    if samples and not labelled:
        says = "names no folder of label maps, and the pipeline loads them"
        yield Finding(Severity.FAULT, where, says, "set data_prefix.seg_map_path", where)
    read = chosen(labelled, quick)
    present: set[int] = set()
    with any_picture_size(), ThreadPoolExecutor(THREADS) as pool:
        found = pool.map(lambda sample: reader.check(sample, where, images), read)
        for findings, seen in tracked(found, f"label maps of {where}", len(read)):
            yield from findings
            present |= seen
    if len(read) < len(labelled):
        for sample in labelled:
            if trouble := absent(sample.label_map):
                yield Finding(Severity.FAULT, sample.label_map, trouble, CURE_FILE, where)
        yield Finding(Severity.NOTE, where, f"--quick: {len(read)} of {len(labelled)} label maps were read")
    if present and reader.classes is not None:
        yield from _check_presence(reader, present, where)


def _check_presence(reader: LabelReader, present: set[int], where: str) -> Iterator[Finding]:
    """Classes that no label map has: rare by chance, a sign of shifted indices, or nothing to tell apart."""
    here = present - reader.ignored
    absent_ones = [name for index, name in enumerate(reader.classes) if index not in here]
    if not absent_ones:
        return
    shown = ", ".join(absent_ones[:6]) + (f", ... ({len(absent_ones)})" if len(absent_ones) > 6 else "")
    if len(here) < 2 <= len(reader.classes) and present & reader.ignored:
        only = f"only {reader.classes[min(here)]!r} and ignored pixels" if here else "only ignored pixels"
        says = f"its label maps hold {only}; no pixel is of: {shown}"
        cure = f"write class indices, 0 to {len(reader.classes) - 1}: {_IGNORED} means ignored, not the second class"
        yield Finding(Severity.FAULT, where, says, cure)
    else:
        yield Finding(Severity.NOTE, where, f"no label map has a pixel of: {shown}")
