"""Segmentation in ADE20K's or Cityscapes' form: an image and a label PNG of the same size for each sample."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from PIL import Image

from csan_mm.common.findings import Finding, Severity
from csan_mm.preflight.datasets import OpenedDataset
from csan_mm.preflight.images import CURE_FILE, THREADS, check_images, unreadable
from csan_mm.preflight.samples import Sample, list_samples

#: Modes of PIL in which a pixel is one number.
_LABEL_MODES = ("1", "L", "P", "I", "I;16")

_CURE_VALUES = "map the pixels to class indices (and ignored ones to the ignore index); mind reduce_zero_label"


def check_segmentation(opened: OpenedDataset) -> Iterator[Finding]:
    """Everything about a segmentation data set: pairs, label maps, images."""
    where = opened.where
    samples = list_samples(opened)
    if not samples:
        place = opened.dataset.ann_file or opened.dataset.data_prefix.get("img_path")
        suffix = opened.dataset.img_suffix
        yield Finding(
            Severity.FAULT, str(place), f"names no image (*{suffix})", "correct data_prefix or img_suffix", where
        )
    allowed = _allowed_values(opened)
    labelled = [sample for sample in samples if sample.label_map is not None]
    seen: Counter[int] = Counter()
    with ThreadPoolExecutor(THREADS) as pool:
        for findings, values in pool.map(lambda sample: _check_label_map(sample, allowed, where), labelled):
            yield from findings
            seen.update(values)
    yield from _check_presence(opened, seen)
    yield from check_images(samples, where)


def _allowed_values(opened: OpenedDataset) -> set[int] | None:
    """The pixel values that mean something before mmseg maps them; None where the config names no classes."""
    dataset = opened.dataset
    if opened.classes is None or isinstance(opened.classes, str):
        return None
    ignored = {dataset.ignore_index, 255}
    if dataset.label_map:
        return set(dataset.label_map) | ignored
    first = 1 if dataset.reduce_zero_label else 0
    # With reduce_zero_label 0 becomes ignored and k becomes k - 1.
    return set(range(first + len(opened.classes))) | ignored


def _check_label_map(sample: Sample, allowed: set[int] | None, where: str) -> tuple[list[Finding], list[int]]:
    """Findings about one label map, and the values in it."""
    path = sample.label_map
    trouble = unreadable(path)
    if trouble:
        return [Finding(Severity.FAULT, path, trouble, CURE_FILE, where)], []
    with Image.open(path) as label_map:
        if label_map.mode not in _LABEL_MODES:
            cure = "write one channel whose values are class indices"
            says = f"is a colour picture (mode {label_map.mode}), not a map of class indices"
            return [Finding(Severity.FAULT, path, says, cure, where)], []
        size, values = label_map.size, np.unique(np.asarray(label_map)).tolist()
    findings = []
    wrong = [value for value in values if allowed is not None and value not in allowed]
    if wrong:
        shown = ", ".join(map(str, wrong[:5])) + (", ..." if len(wrong) > 5 else "")
        findings.append(Finding(Severity.FAULT, path, f"has values that are no class: {shown}", _CURE_VALUES, where))
    if not unreadable(sample.image):
        with Image.open(sample.image) as image:
            if image.size != size:
                says = f"is {size[0]}x{size[1]} and its image {image.size[0]}x{image.size[1]}"
                findings.append(Finding(Severity.FAULT, path, says, "make the two sizes equal", where))
    return findings, values


def _check_presence(opened: OpenedDataset, seen: Counter[int]) -> Iterator[Finding]:
    """Classes that no label map has: rare by chance, or a sign of shifted indices."""
    dataset = opened.dataset
    if not seen or opened.classes is None or isinstance(opened.classes, str) or dataset.label_map:
        return
    first = 1 if dataset.reduce_zero_label else 0
    absent = [name for index, name in enumerate(opened.classes) if index + first not in seen]
    if absent:
        shown = ", ".join(absent[:6]) + (f", ... ({len(absent)})" if len(absent) > 6 else "")
        yield Finding(Severity.NOTE, opened.where, f"no label map has a pixel of: {shown}", where="")
