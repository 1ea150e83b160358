"""A config for data of one's own: ``csan_mm new-config --data DIR OUT.py`` looks at a folder and writes it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class NewConfig:
    """What :func:`new_config` wrote.

    Args:
        path: The config.
        files: All files written: the config, and the lists of a split where one was made.
        notes: Lines for the user: what was found and chosen.
        train_command: The command that trains it.
    """

    path: Path
    files: tuple[Path, ...]
    notes: tuple[str, ...]
    train_command: str


def new_config(
    data: str | os.PathLike[str],
    out: str | os.PathLike[str],
    task: str | None = None,
    model: str = "swin-csan-tiny",
    detector: str | None = None,
    gpus: int | None = None,
    classes: Sequence[str] | None = None,
    force: bool = False,
) -> NewConfig:
    """Look at a folder of annotated images and write a config that trains on them; nothing in the folder is changed or copied.

    ``csan_mm new-config`` is this, followed by ``csan_mm preflight`` on what was written.

    Args:
        data: The folder, with COCO annotations or with images and label maps (PNGs of class indices), or one COCO annotation
            file.
        out: The config to write, a ``.py``. The lists of a validation split, where one is made, stand beside it.
        task: 'detection', 'instance' or 'semantic'. Default: the detector's; without one, detection, or semantic where the
            folder has label maps.
        model: A backbone as :func:`csan_mm.list_models` names it. Default: 'swin-csan-tiny'.
        detector: 'retinanet', 'faster-rcnn', 'dino', 'mask-rcnn', 'cascade-mask-rcnn', 'upernet' or 'semantic-fpn'. Default:
            RetinaNet, Mask R-CNN or UPerNet, by the task.
        gpus: For how many GPUs batch and learning rate are; 0: a CPU. Default: as many as torch sees.
        classes: Train on these alone; of label maps the names of all values, in their order. Default: all, as the data name
            them.
        force: Replace files that exist. Default: False.

    Returns:
        The paths written and what to tell the user.

    Raises:
        UserError: The data cannot be made out, or a file exists; the message says what was found and what to do.
        ValueError: A wrong argument; the message names it.

    Example:
        >>> csan_mm.new_config('data/birds', 'birds.py', classes=['gull', 'tern']).train_command  # doctest: +SKIP
        'csan_mm train birds.py'
    """
    from csan_mm.own_data.build import build

    return build(Path(data), Path(out), task, model, detector, gpus, classes, force)
