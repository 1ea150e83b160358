"""The config of a segmentor for images and label maps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmengine.config import Config

from csan_mm.own_data import text
from csan_mm.own_data.code import Variable, code, steps
from csan_mm.own_data.mask_classes import Classes, classes_of
from csan_mm.own_data.mask_content import read_masks
from csan_mm.own_data.mask_files import MaskData, MaskPart
from csan_mm.own_data.plan import Plan, Request, some
from csan_mm.own_data.scales import crop_side, median_size
from csan_mm.own_data.schedule import fit_batch, iterations
from csan_mm.own_data.split import held_out

_PIPELINES = ("train_pipeline", "test_pipeline")


@dataclass(frozen=True)
class _Half:
    """Training or validation: the stems of its images, and the list that names them, as the config has it, or None."""

    part: MaskPart
    stems: tuple[str, ...]
    listing: Variable | None


def plan_semantic(found: MaskData, recipe: Config, request: Request) -> Plan:
    """Everything to write for images with label maps.

    Args:
        found: The folders.
        recipe: The shipped config that is inherited.
        request: What was asked for.

    Raises:
        UserError: The label maps do not do.
        ArgumentError: ``classes`` of another number than the label maps have.
    """
    train, val, lists = _halves(found, request)
    masks = read_masks([half.part.mask(stem) for half in (train, val) for stem in half.stems])
    classes = classes_of(masks, found.root, request.classes)
    crop = crop_side(masks.sizes, recipe.crop_size[0])
    batch = fit_batch(recipe, request.gpus, len(train.stems))
    length = iterations(recipe, len(train.stems), batch.total)
    command = request.train_command(batch.processes)
    counts = f"{len(train.stems)} training and {len(val.stems)} validation images"
    title = f"{request.detector} with {request.model}: {len(classes.names)} classes, {counts} of {request.data}"
    own = crop != recipe.crop_size[0] or classes.from_one != _reduces(recipe)
    lines = [
        *text.head(title, request.base, command),
        *_data_lines(found, classes),
        *(_pipeline_lines(recipe, crop, median_size(masks.sizes), classes.from_one) if own else []),
        *text.loader_lines("train", batch, _dataset(found, train, "train_pipeline" if own else None)),
        *text.loader_lines("val", batch, _dataset(found, val, "test_pipeline" if own else None)),
        "test_dataloader = val_dataloader",
        "",
        *text.model_lines(recipe, len(classes.names), _sizes(recipe, crop)),
        *text.rate_lines(batch),
        *text.length_lines(length, "iters"),
    ]
    return Plan("\n".join(lines) + "\n", lists, _notes(found, classes, counts, bool(lists)), command)


def _notes(found: MaskData, classes: Classes, counts: str, split: bool) -> list[str]:
    whence = classes.source or "made up, since no file names them: give --classes, in the order of the values"
    notes = [f"{len(classes.names)} classes ({whence}): {some(classes.names)}", counts]
    notes += ["the validation images are a fifth of all, listed beside the config"] if split else []
    notes += ["values begin at 1; 0 is ignored (reduce_zero_label)"] if classes.from_one else []
    notes += [f"no pixel of: {some(classes.absent)}"] if classes.absent else []
    for part in filter(None, (found.train, found.val)):
        if not part.whole and part.listing is None:
            notes.append(f"{part.images}: images without a label map (*{part.mask_suffix}) are left out, by a list")
    return notes


def _halves(found: MaskData, request: Request) -> tuple[_Half, _Half, dict[Path, str]]:
    """Training, validation, and the lists to write: where there is no validation, or not every image has a label map."""
    train, val = found.train, found.val
    lists: dict[Path, str] = {}

    def listed(part: MaskPart, stems: Sequence[str], ending: str) -> _Half:
        path = request.beside(ending)
        lists[path] = "".join(f"{stem}\n" for stem in stems)
        return _Half(part, tuple(stems), Variable(code("{{ fileDirname }}/" + path.name)))

    if val is None:
        chosen = held_out(train.stems, [True] * len(train.stems), str(train.masks))
        kept = [stem for stem in train.stems if stem not in chosen]
        return listed(train, kept, "_train.txt"), listed(train, sorted(chosen), "_val.txt"), lists
    halves = []
    for part, ending in ((train, "_train.txt"), (val, "_val.txt")):
        if part.listing is not None:
            halves.append(_Half(part, part.stems, Variable(code(part.listing.relative_to(found.root).as_posix()))))
        else:
            halves.append(_Half(part, part.stems, None) if part.whole else listed(part, part.stems, ending))
    return halves[0], halves[1], lists


def _data_lines(found: MaskData, classes: Classes) -> list[str]:
    palette = code([list(colour) for colour in classes.palette])
    return [
        f"data_root = {code(found.root.as_posix().rstrip('/') + '/')}",
        "# The order of the names is that of the label maps' values; the colours are for pictures of predictions.",
        f"classes = {code(classes.names)}",
        f"metainfo = dict(classes=classes, palette={palette})",
        "images = dict(",
        '    type="BaseSegDataset",',
        "    data_root=data_root,",
        "    metainfo=metainfo,",
        f"    img_suffix={code(found.train.image_suffix)},",
        f"    seg_map_suffix={code(found.train.mask_suffix)},",
        f"    reduce_zero_label={classes.from_one},  # True: 0 is ignored, and 1 is the first class",
        ")",
    ]


def _dataset(found: MaskData, half: _Half, pipeline: str | None) -> Variable:
    """What a data loader has beside ``images``; a part whose names end otherwise says so."""
    part, own = half.part, []
    for key, ending, first in (
        ("img_suffix", part.image_suffix, found.train.image_suffix),
        ("seg_map_suffix", part.mask_suffix, found.train.mask_suffix),
    ):
        own += [f"{key}={code(ending)}"] if ending != first else []
    shared = f"dict(images, {', '.join(own)})" if own else "images"
    prefix = {"img_path": _below(part.images, found.root), "seg_map_path": _below(part.masks, found.root)}
    entries = [f"**{shared}", f"data_prefix={code(prefix)}"]
    entries += [f"ann_file={half.listing}"] if half.listing else []
    entries += [f"pipeline={pipeline}"] if pipeline else []
    return Variable(f"dict({', '.join(entries)})")


def _below(folder: Path, root: Path) -> str:
    relative = folder.relative_to(root).as_posix()
    return "" if relative == "." else relative


def _reduces(recipe: Config) -> bool:
    """Whether the recipe's label maps begin at 1."""
    step = next(step for step in recipe.train_pipeline if step.type == "LoadAnnotations")
    return bool(step.get("reduce_zero_label", False))


def _pipeline_lines(recipe: Config, crop: int, middle: tuple[int, int], from_one: bool) -> list[str]:
    """The recipe's pipelines, for this crop and these label maps; its test-time augmentation has no size."""
    lines = [f"crop_size = ({crop}, {crop})  # the middle image is {middle[0]} x {middle[1]}"]
    for name in _PIPELINES:
        lines += steps(name, _adapted(recipe[name], crop / recipe.crop_size[0], from_one))
    if from_one == _reduces(recipe):
        return lines
    places = _label_steps(recipe.tta_pipeline, "_base_.tta_pipeline")
    return [*lines, *(f"{place}.reduce_zero_label = {from_one}" for place in places)]


def _label_steps(value: Any, place: str) -> Iterator[str]:
    """Where a pipeline loads label maps, in the lists within its steps too."""
    if isinstance(value, Mapping):
        if value.get("type") == "LoadAnnotations":
            yield place
        yield from _label_steps(value.get("transforms", ()), f"{place}.transforms")
    elif isinstance(value, (list, tuple)):
        for index, entry in enumerate(value):
            yield from _label_steps(entry, f"{place}[{index}]")


def _adapted(value: Any, factor: float, from_one: bool) -> Any:
    """A pipeline, or what stands in it, with its sizes times ``factor`` and its label maps read as they are."""
    if isinstance(value, Mapping):
        step = {key: _adapted(entry, factor, from_one) for key, entry in value.items()}
        if "scale" in step:
            step["scale"] = tuple(round(side * factor) for side in step["scale"])
        if "crop_size" in step:
            step["crop_size"] = Variable("crop_size")
        if step.get("type") == "LoadAnnotations":
            step["reduce_zero_label"] = from_one
        return step
    if isinstance(value, (list, tuple)):
        return type(value)(_adapted(entry, factor, from_one) for entry in value)
    return value


def _sizes(recipe: Config, crop: int) -> dict[str, Any]:
    """What the model knows of the crop's size."""
    old = recipe.crop_size[0]
    if crop == old:
        return {}
    settings: dict[str, Any] = {"data_preprocessor": {"size": Variable("crop_size")}}
    test = recipe.model.get("test_cfg") or {}
    if test.get("mode") == "slide":
        stride = tuple(round(side * crop / old) for side in test.stride)
        settings["test_cfg"] = {"crop_size": Variable("crop_size"), "stride": stride}
    return settings
