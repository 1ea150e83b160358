"""The config of a detector for COCO annotations."""

from collections.abc import Sequence
from typing import Any

from mmengine.config import Config

from csan_mm.common.errors import UserError
from csan_mm.own_data import text
from csan_mm.own_data.coco_content import class_names, learnable, sizes, unseen, without_masks
from csan_mm.own_data.coco_files import CocoData
from csan_mm.own_data.coco_split import Part, parts
from csan_mm.own_data.code import Variable, code, steps
from csan_mm.own_data.plan import Plan, Request, some
from csan_mm.own_data.scales import detection_scale, median_size
from csan_mm.own_data.schedule import Batch, epochs, fit_batch

#: mmdet has colours for COCO's 80 classes, and cannot draw a class beyond them.
_COLOURS = 80

#: The recipes' ``filter_cfg`` leaves out images with a side below this.
_LEAST_SIDE = 32

_PIPELINES = ("train_pipeline", "test_pipeline")


def plan_coco(found: CocoData, recipe: Config, request: Request) -> Plan:
    """Everything to write for COCO annotations.

    Args:
        found: The annotation files.
        recipe: The shipped config that is inherited.
        request: What was asked for.

    Raises:
        UserError: The annotations do not do for the task.
    """
    classes = class_names(found.train, request.classes)
    annotations = learnable(found.train, classes)
    _require_masks(found, annotations, request)
    train, val, lists = parts(found, set(annotations), request)
    learnt = len(train.ids & set(annotations))
    batch = fit_batch(recipe, request.gpus, learnt)
    length = epochs(recipe, learnt, batch.total)
    command = request.train_command(batch.processes)
    counts = f"{len(train.ids)} training and {len(val.ids)} validation images"
    title = f"{request.detector} with {request.model}: {len(classes)} classes, {counts} of {request.data}"
    lines = [
        *text.head(title, request.base, command),
        *_data_lines(found, train, val, classes),
        *_pipeline_lines(found, recipe),
        *_loader_lines(found, recipe, batch),
        "",
        *text.model_lines(recipe, len(classes)),
        *text.rate_lines(batch),
        *text.length_lines(length, "epochs"),
    ]
    notes = [f"{len(classes)} classes, in the order of {found.train.path.name}: {some(classes)}", counts]
    notes += ["the validation images are a fifth of those annotated, listed beside the config"] if lists else []
    if names := unseen(found.train, annotations, classes):
        notes.append(f"no annotation to learn from: {some(names)}")
    return Plan("\n".join(lines) + "\n", lists, notes, command)


def _require_masks(found: CocoData, annotations: dict[Any, list[dict]], request: Request) -> None:
    lacking = without_masks(annotations) if request.task == "instance" else 0
    if lacking:
        raise UserError(
            f"{found.train.path} has {lacking} annotations without a segmentation, and {request.detector} learns masks: add "
            "them, or take --task detection"
        )


def _data_lines(found: CocoData, train: Part, val: Part, classes: Sequence[str]) -> list[str]:
    palette = ""
    if len(classes) > _COLOURS:
        colour = "(37 * i % 256, 97 * i % 256, 173 * i % 256)"
        palette = f", palette=[{colour} for i in range({len(classes)})]"
    return [
        f"data_root = {code(found.root.as_posix().rstrip('/') + '/')}",
        f"train_ann = {train.file}",
        f"val_ann = {val.file}",
        f"train_img, val_img = dict(img={code(train.images)}), dict(img={code(val.images)})  # below data_root",
        "# The names and the order are the annotation file's; another order would mix the names up.",
        text.classes_line(classes, palette),
    ]


def _pipeline_lines(found: CocoData, recipe: Config) -> list[str]:
    """Both pipelines with a scale for these images; where the recipe resizes at random, its own hold for any size."""
    largest = _resized_to(recipe)
    if largest is None:
        return ["# The pipelines are the recipe's, which resizes at random."]
    long, short = median_size(sizes(found.train))
    scale = detection_scale(sizes(found.train), largest)
    lines = [f"scale = {scale}  # images are resized to fit into it; the middle one of them is {long} x {short}"]
    for name in _PIPELINES:
        pipeline = [
            dict(step, scale=Variable("scale")) if step.type == "Resize" else dict(step) for step in recipe[name]
        ]
        lines += steps(name, pipeline)
    return lines


def _resized_to(recipe: Config) -> tuple[int, int] | None:
    """The one scale that the recipe trains at, or None."""
    return next((tuple(step.scale) for step in recipe.train_pipeline if step.type == "Resize"), None)


def _loader_lines(found: CocoData, recipe: Config, batch: Batch) -> list[str]:
    own = _resized_to(recipe) is not None
    lines: list[str] = []
    small = min(map(min, sizes(found.train))) < _LEAST_SIDE
    some_small = {"filter_cfg": {"filter_empty_gt": True, "min_size": 1}} if small else {}
    for part in ("train", "val"):
        settings = {name: Variable(name) for name in ("data_root", "metainfo")}
        settings |= {"ann_file": Variable(f"{part}_ann"), "data_prefix": Variable(f"{part}_img")}
        settings |= {"pipeline": Variable("train_pipeline" if part == "train" else "test_pipeline")} if own else {}
        settings |= some_small if part == "train" else {}
        lines += text.loader_lines(part, batch, settings)
    return [
        *lines,
        "test_dataloader = val_dataloader",
        "val_evaluator = dict(ann_file=val_ann)",
        "test_evaluator = val_evaluator",
    ]
