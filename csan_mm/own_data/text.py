"""The lines that configs for all tasks have: head, classes, schedule, model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mmengine.config import Config

from csan_mm.own_data.code import code
from csan_mm.own_data.schedule import Batch, Length
from csan_mm.preflight.classes import head_classes


def head(title: str, base: Path, train_command: str) -> list[str]:
    """What the file is, and the config it inherits."""
    return [
        f"# {title}",
        f"# Written by csan_mm new-config and yours to change. Train with: {train_command}",
        f'_base_ = "csan_mm::{base.as_posix()}"  # model, recipe and hooks; what stands below overrides it',
        "",
    ]


def loader_lines(part: str, batch: Batch, dataset: dict[str, Any]) -> list[str]:
    """A data loader; the batch and its workers are training's, validation has one image at a time as in the recipe."""
    workers = {"num_workers": batch.workers, "persistent_workers": batch.workers > 0}
    settings = {"batch_size": batch.images, **workers} if part == "train" else workers
    lines = [f"{part}_dataloader = dict(", *(f"    {name}={code(value)}," for name, value in settings.items())]
    return [*lines, f"    dataset={code(dataset)},", ")"]


def rate_lines(batch: Batch) -> list[str]:
    """The learning rate, left to be scaled by the batch that training really has, on any number of GPUs."""
    rate = f"{batch.recipe_rate:g} is for {batch.recipe_batch} images a step; here are {batch.total}"
    return [
        f"# The recipe's learning rate {rate}, so it is scaled to {batch.rate:g}.",
        "auto_scale_lr = dict(enable=True)",
    ]


def length_lines(length: Length, unit: str) -> list[str]:
    """How long it trains, where that is not the recipe's length; ``unit`` is 'epochs' or 'iters'."""
    lines = []
    if length.number != length.recipe:
        setting = code({f"max_{unit}": length.number, "val_interval": length.interval})
        lines += [
            f"# The recipe's {length.recipe} {unit} are for a large data set; these make {length.iterations:,} iterations."
        ]
        lines += [f"train_cfg = {setting}"]
        lines += [f"default_hooks = dict(checkpoint=dict(interval={length.interval}))"]
    if length.schedulers is not None:
        lines += ["param_scheduler = [  # the recipe's, for this length"]
        lines += [*(f"    {code(scheduler)}," for scheduler in length.schedulers), "]"]
    return lines


def model_lines(recipe: Config, classes: int, more: dict[str, Any] | None = None) -> list[str]:
    """The heads' classes, and random weights where the ImageNet file is not there."""
    settings: dict[str, Any] = dict(more or {})
    stages = []
    for place, _ in head_classes(recipe.model):
        *names, last = place.split(".")[1:]
        if any(name.isdigit() for name in names):  # in a list, which inheriting replaces as a whole
            indexed = "".join(f"[{name}]" if name.isdigit() else f".{name}" for name in names)
            stages.append(f"_base_.model{indexed}.{last} = {classes}")
            continue
        part = settings
        for name in names:
            part = part.setdefault(name, {})
        part[last] = classes
    lines = ["model = dict(", *(f"    {name}={code(value)}," for name, value in settings.items())]
    if weights := absent_weights(recipe):
        lines += [f"    # Delete this line once {weights} is there: ImageNet weights help most where images are few."]
        lines += ["    backbone=dict(init_cfg=None),"]
    return [*stages, *lines, ")"]


def absent_weights(recipe: Config) -> str | None:
    """The file of ImageNet weights that the recipe starts from, where it is not there."""
    path = (recipe.model.backbone.get("init_cfg") or {}).get("checkpoint")
    return path if path and not Path(path).exists() else None


def classes_line(names: Sequence[str], more: str = "") -> str:
    """``metainfo``; a single class keeps its comma."""
    return f"metainfo = dict(classes={code(tuple(names))}{more})"
