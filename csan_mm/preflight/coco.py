"""COCO annotation files: what pycocotools and mmdet's own data set make of them, in training and in evaluation."""

import contextlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from csan_mm.common.findings import Finding, Severity
from csan_mm.preflight.classes import compare_classes
from csan_mm.preflight.coco_types import check_box, check_form
from csan_mm.preflight.datasets import OpenedDataset
from csan_mm.preflight.evaluators import CocoEvaluation
from csan_mm.preflight.images import check_images, image_loader
from csan_mm.preflight.masks import mask_trouble
from csan_mm.preflight.progress import announce, tracked
from csan_mm.preflight.samples import Sample, coco_samples, read_json

_CURE_BOX = "correct or remove the annotation; training passes over it without a word"
_CURE_MASK = "correct the segmentation, or remove the annotation"

#: How many images the trial step takes from a file.
TRIAL_IMAGES = 2


@dataclass
class AnnotationFile:
    """A COCO file with all that reads it, so that it is read once.

    Args:
        path: The file.
        datasets: The data sets of the config that read it.
        evaluations: The metrics that read it.
        excerpt: Filled by the check: a few images with what belongs to them, for the trial step.
    """

    path: str
    datasets: list[OpenedDataset] = field(default_factory=list)
    evaluations: list[CocoEvaluation] = field(default_factory=list)
    excerpt: dict[str, list] | None = None

    @property
    def where(self) -> str:
        """The first place in the config that names it."""
        return self.datasets[0].where if self.datasets else self.evaluations[0].where


def check_annotation_file(file: AnnotationFile, quick: bool = False) -> Iterator[Finding]:
    """Everything about a COCO file, and the images of its data sets.

    Args:
        file: It; its ``excerpt`` is filled.
        quick: Read a choice of the images only. Default: False.
    """
    findings, samples = _check_content(file)
    yield from findings
    done = set()
    for opened in file.datasets:
        loader = image_loader(opened.dataset.pipeline.transforms)
        folder = opened.dataset.data_prefix["img"]
        if samples is not None and (folder, loader) not in done:
            done.add((folder, loader))
            yield from check_images(coco_samples(samples, folder), opened.where, loader, quick)


def _check_content(file: AnnotationFile) -> tuple[list[Finding], list[dict] | None]:
    """Findings, and the file's images where they have the right form; the rest of the content is let go of on return."""
    announce(f"reading {file.path}")
    try:
        content = read_json(file.path)
    except (OSError, ValueError, RecursionError) as error:
        return [
            Finding(Severity.FAULT, file.path, f"is not readable JSON ({error})", "write it again", file.where)
        ], None
    needed = any(not opened.dataset.test_mode for opened in file.datasets)
    needed |= any(not evaluation.format_only for evaluation in file.evaluations)
    findings = list(check_form(content, file.path, file.where, needed))
    if findings:
        return findings, None
    content.setdefault("annotations", [])
    checker = _Checker(content, file)
    findings += checker.check()
    file.excerpt = checker.excerpt()
    return findings, content["images"]


class _Checker:
    """The checks of a file of right form.

    Args:
        content: What it holds.
        file: What reads it.
    """

    def __init__(self, content: dict[str, list], file: AnnotationFile) -> None:
        self.content, self.file = content, file
        self.images = {image["id"]: image for image in content["images"]}
        self.categories = {category["id"] for category in content["categories"]}
        self.by_image: dict[Any, list[dict]] = {}
        self.learnt: set = set()  # images that training keeps and that have a box to learn from
        for annotation in content["annotations"]:
            self.by_image.setdefault(annotation["image_id"], []).append(annotation)

    def check(self) -> Iterator[Finding]:
        """All findings."""
        file = self.file
        for opened in file.datasets:
            yield from self._check_names(opened.classes, opened.where)
        if not file.datasets:
            yield from self._check_names(file.evaluations[0].classes, file.where)
        masks = any(_step(opened, "with_mask") for opened in file.datasets)
        scored = [evaluation for evaluation in file.evaluations if not evaluation.format_only]
        scored_masks = any("segm" in evaluation.metrics for evaluation in scored)
        yield from self._check_annotations(masks or scored_masks, scored_masks, scored)
        for opened in file.datasets:
            yield from self._check_learning(opened)
        for evaluation in scored:
            yield from self._check_scores(evaluation)
        if not self.content["annotations"] and not scored and all(opened.dataset.test_mode for opened in file.datasets):
            yield Finding(Severity.NOTE, file.path, "has no annotation, and none is read", where=file.where)

    def _check_names(self, classes: Any, where: str) -> Iterator[Finding]:
        if classes is None or isinstance(classes, str):
            return
        names = [category["name"] for category in self.content["categories"]]
        twice = sorted({name for name in names if name in classes and names.count(name) > 1})
        if twice:
            says = f"has two categories of one name ({', '.join(twice)}): labels behind it would be shifted"
            yield Finding(Severity.FAULT, self.file.path, says, "give each category a name of its own", where)
        else:
            yield from compare_classes(classes, names, where, self.file.path)

    def _check_annotations(
        self, masks: bool, scored_masks: bool, scored: Sequence[CocoEvaluation]
    ) -> Iterator[Finding]:
        path, where = self.file.path, self.file.where
        reads_file = any(evaluation.path for evaluation in scored)
        for annotation in tracked(self.content["annotations"], f"annotations of {path}"):
            image = self.images.get(annotation["image_id"])
            subject = f"{path}, annotation {annotation['id']}"
            if image is None:
                says = "belongs to an image that is not listed"
                yield Finding(Severity.FAULT, subject, says, "correct its image_id", where)
                continue
            troubles = [(severity, says, _CURE_BOX) for severity, says in check_box(annotation, image)]
            if annotation["category_id"] not in self.categories:
                troubles.append((Severity.FAULT, "has a category_id that is not listed", "correct it"))
            dropped = any(severity is Severity.WARNING for severity, _, _ in troubles)
            if (scored_masks or (masks and not dropped)) and (
                trouble := mask_trouble(annotation.get("segmentation"), image["width"], image["height"], scored_masks)
            ):
                troubles.append((Severity.FAULT, trouble, _CURE_MASK))
            if reads_file:
                troubles += _score_troubles(annotation)
            for severity, says, cure in troubles:
                yield Finding(severity, f"{subject} (of {image['file_name']})", says, cure, where)

    def _check_learning(self, opened: OpenedDataset) -> Iterator[Finding]:
        """What mmdet's data set makes of the file, by its own code, and whether anything is left to learn from."""
        dataset, where = opened.dataset, opened.where
        if isinstance(opened.classes, str):
            return
        left_out = _step(opened, "with_mask") and _step(opened, "poly2mask") is False
        infos, with_boxes = [], set()
        try:
            index = self._index(dataset)
            dataset.cat_ids = index.get_cat_ids(cat_names=dataset.metainfo["classes"])
            dataset.cat2label = {cat_id: label for label, cat_id in enumerate(dataset.cat_ids)}
            dataset.cat_img_map = index.catToImgs
            for image_id, image in index.imgs.items():
                raw = {"raw_img_info": {**image, "img_id": image_id}, "raw_ann_info": self.by_image.get(image_id, [])}
                info = dataset.parse_data_info(raw)
                if any(
                    not instance["ignore_flag"] and not (left_out and isinstance(instance.get("mask"), dict))
                    for instance in info["instances"]
                ):
                    with_boxes.add(image_id)
                infos.append({key: info[key] for key in ("img_id", "width", "height")})
            dataset.data_list = infos
            kept = [info["img_id"] for info in dataset.filter_data()]
        except Exception as error:  # whatever the data set's own code raises would stop the training
            says = f"cannot be loaded ({type(error).__name__}: {error})"
            yield Finding(Severity.FAULT, self.file.path, says, "correct the file", where)
            return
        if not dataset.test_mode:
            self.learnt |= with_boxes & set(kept)
            yield from self._what_is_left(len(with_boxes), len(kept), len(infos), where)

    def _what_is_left(self, boxes: int, left: int, total: int, where: str) -> Iterator[Finding]:
        path = self.file.path
        if not self.content["annotations"]:
            cure = "write the boxes there, or name the file that has them"
            yield Finding(Severity.FAULT, path, "has no annotation: there is nothing to learn from", cure, where)
        elif not left:
            cure = "look at the class names and filter_cfg"
            yield Finding(Severity.FAULT, path, f"none of its {total} images is left to train on", cure, where)
        elif not boxes:
            says = "has no box to learn from: all are crowds (iscrowd=1), ignored, empty or of other classes"
            yield Finding(Severity.FAULT, path, says, "correct iscrowd, ignore, bbox and area", where)
        elif left < total:
            yield Finding(Severity.NOTE, path, f"{left} of its {total} images are left by filter_cfg", where=where)

    def _index(self, dataset: Any) -> Any:
        """The content in the index that the data set's own API makes; it prints what it does."""
        with contextlib.redirect_stdout(io.StringIO()):
            index = dataset.COCOAPI()
            index.dataset = self.content
            index.createIndex()
        return index

    def _check_scores(self, evaluation: CocoEvaluation) -> Iterator[Finding]:
        """A metric that finds no box of its classes gives -1 for everything."""
        classes = evaluation.classes
        if isinstance(classes, str):
            return
        wanted = {row["id"] for row in self.content["categories"] if classes is None or row["name"] in classes}
        if not any(
            row["category_id"] in wanted and not row.get("iscrowd") and row["image_id"] in self.images
            for row in self.content["annotations"]
        ):
            says = "has no box to score against (none, or all with iscrowd=1): every figure would be -1"
            cure = "correct iscrowd, or set format_only=True in the metric of a test set without annotations"
            yield Finding(Severity.FAULT, self.file.path, says, cure, evaluation.where)

    def excerpt(self) -> dict[str, list]:
        """A few images, those that training learns from first, then those with annotations, with what belongs to them."""
        images = sorted(
            self.content["images"], key=lambda image: (image["id"] not in self.learnt, image["id"] not in self.by_image)
        )[:TRIAL_IMAGES]
        annotations = [row for image in images for row in self.by_image.get(image["id"], [])]
        return {"images": images, "annotations": annotations, "categories": self.content["categories"]}


def _score_troubles(annotation: dict) -> Iterator[tuple[Severity, str, str]]:
    """What COCOeval asks of an annotation beyond what training does."""
    if "iscrowd" not in annotation:
        yield Severity.FAULT, "has no iscrowd, and the metric reads it", "write iscrowd: 0"
    if isinstance(annotation["id"], str):
        yield Severity.FAULT, "has an id that is text, and the metric keeps ids as numbers", "number the annotations"
    elif annotation["id"] == 0:
        says = "has the id 0, which the metric takes for `not found`: a right detection of it counts as wrong"
        yield Severity.WARNING, says, "count ids from 1"


def _step(opened: OpenedDataset, argument: str) -> Any:
    """An argument of the pipeline's LoadAnnotations as it is in effect; None where there is no such step."""
    for step in opened.dataset.pipeline.transforms:
        if any(kind.__name__ == "LoadAnnotations" for kind in type(step).__mro__):
            return getattr(step, argument, None)
    return None


def check_loaded(opened: OpenedDataset, quick: bool = False) -> Iterator[Finding]:
    """A data set of another form (panoptic, LVIS, VOC, ...): loaded by its own code, its images looked at.

    Args:
        opened: The data set.
        quick: Read a choice of the images only. Default: False.
    """
    dataset, where = opened.dataset, opened.where
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            infos = dataset.load_data_list()
    except Exception as error:  # as above
        says = f"cannot be loaded ({type(error).__name__}: {error})"
        yield Finding(Severity.FAULT, str(dataset.ann_file or where), says, "correct the file", where)
        return
    yield Finding(Severity.NOTE, where, f"of a {type(dataset).__name__} only loading and images are checked")
    samples = [
        Sample(info["img_path"], size=(info["width"], info["height"]) if "width" in info else None)
        for info in infos
        if "img_path" in info
    ]
    yield from check_images(samples, where, image_loader(dataset.pipeline.transforms), quick)
