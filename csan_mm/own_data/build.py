"""From a folder to a config: what is there, what suits it, and the files written together or not at all."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from mmengine.config import Config

from csan_mm.checkpoint.files import replacing
from csan_mm.common.config import require_writable
from csan_mm.common.errors import ArgumentError, UserError
from csan_mm.common.package_configs import configs_folder
from csan_mm.own_data import NewConfig
from csan_mm.own_data.coco_config import plan_coco
from csan_mm.own_data.coco_files import CocoData, find_coco
from csan_mm.own_data.mask_files import MaskData, find_masks
from csan_mm.own_data.plan import Plan, Request
from csan_mm.own_data.semantic_config import plan_semantic
from csan_mm.own_data.shipped import DETECTORS, choose_detector, shipped_base
from csan_mm.own_data.text import absent_weights
from csan_mm.own_data.tree import describe


def build(
    data: Path,
    out: Path,
    task: str | None,
    model: str,
    detector: str | None,
    gpus: int | None,
    classes: Sequence[str] | None,
    force: bool,
) -> NewConfig:
    """As :func:`csan_mm.new_config`, which says what the arguments are."""
    if out.suffix != ".py":
        raise ArgumentError(f"out={str(out)!r}: a config ends in .py")
    data = data.absolute()
    coco = None if task == "semantic" or detector in DETECTORS["semantic"] else find_coco(data)
    masks = None if coco else find_masks(data)
    task, detector = choose_detector(task, detector, "semantic" if masks else "detection")
    base = shipped_base(model, detector)
    recipe = Config.fromfile(configs_folder() / base)
    request = Request(data, out, task, model, detector, gpus, classes, base)
    plan = _plan(coco, masks, recipe, request)
    files = {**plan.lists, out: plan.text}
    _write(files, force)
    notes = [*plan.notes, f"inherits csan_mm::{base.as_posix()}"]
    if weights := absent_weights(recipe):
        notes.append(f"starts from random weights: {weights} is not there, and the config says what to do once it is")
    return NewConfig(out, tuple(files), tuple(notes), plan.train_command)


def _plan(coco: CocoData | None, masks: MaskData | None, recipe: Config, request: Request) -> Plan:
    if request.task == "semantic":
        if masks is None:
            raise UserError(
                f"{request.data} has no images with label maps (found {describe(request.data)}): expected two folders whose "
                "files have the same names but for the end, such as images/train and masks/train"
            )
        return plan_semantic(masks, recipe, request)
    if coco is None:
        other = "; its images and label maps are for --task semantic" if masks else ", or images with label maps"
        raise UserError(
            f"{request.data} has no COCO annotations (found {describe(request.data)}): expected a JSON file with the lists "
            "images, annotations and categories, such as annotations/instances_train.json or train/_annotations.coco.json"
            + other
        )
    return plan_coco(coco, recipe, request)


def _write(files: dict[Path, str], force: bool) -> None:
    """All of them, or none.

    Raises:
        UserError: One exists and ``force`` is False, or the folder cannot be written to.
    """
    there = [str(path) for path in files if path.exists()]
    if there and not force:
        raise UserError(f"{there[0]} exists already: name another, or replace it with --force", exit_code=2)
    folder = next(iter(files)).parent
    require_writable(folder, "OUT.py in")
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for path, content in files.items():
            stack.enter_context(replacing(path)).write_text(content, encoding="utf-8")
