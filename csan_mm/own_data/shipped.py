"""Which shipped config a new one inherits: that of the backbone and the detector or segmentor asked for."""

import re
from difflib import get_close_matches
from pathlib import Path

from csan_mm.common.errors import ArgumentError
from csan_mm.common.package_configs import shipped_configs

#: Task -> what does it; the first is the default.
DETECTORS = {
    "detection": ("retinanet", "faster-rcnn", "dino"),
    "instance": ("mask-rcnn", "cascade-mask-rcnn"),
    "semantic": ("upernet", "semantic-fpn"),
}

_COCO = re.compile(r"(?P<detector>[a-z-]+?)(?:-4scale)?_(?P<model>[a-z0-9-]+)_.*_coco")
_ADE = re.compile(r"(?P<model>[a-z0-9-]+)_(?P<detector>upernet|fpn)_.*_ade20k-.*")

#: The last part of a backbone's name in the names of config files.
_SHORT = {
    "t": "tiny",
    "s": "small",
    "b": "base",
    "l": "large",
    "tp": "tiny-plus",
    "bp": "base-plus",
    "ts": "tiny-slim",
    "bs": "base-slim",
}


def choose_detector(task: str | None, detector: str | None, default_task: str) -> tuple[str, str]:
    """Task and detector from what was asked for.

    Raises:
        ArgumentError: One is unknown, or the detector does another task.
    """
    if task is not None and task not in DETECTORS:
        raise ArgumentError(f"task={task!r} is unknown: {_near(task, list(DETECTORS))}")
    if detector is None:
        task = task or default_task
        return task, DETECTORS[task][0]
    known = {name: owner for owner, names in DETECTORS.items() for name in names}
    if detector not in known:
        raise ArgumentError(f"detector={detector!r} is unknown: {_near(detector, list(known))}")
    if task is not None and known[detector] != task:
        raise ArgumentError(
            f"detector={detector!r} does {known[detector]}, not {task}: take one of {', '.join(DETECTORS[task])}, or "
            f"task={known[detector]!r}"
        )
    return known[detector], detector


def shipped_base(model: str, detector: str) -> Path:
    """The shipped config for a backbone and a detector, relative to the folder of configs.

    Raises:
        ArgumentError: There is none; the message lists the near names, or what is shipped with one of the two.
    """
    pairs = _pairs()
    if (model, detector) in pairs:
        return pairs[model, detector]
    models = sorted({name for name, _ in pairs})
    if model not in models:
        raise ArgumentError(f"model={model!r} is unknown, or comes with no such config: {_near(model, models)}")
    others = sorted(name for name, kind in pairs if kind == detector)
    with_model = sorted(kind for name, kind in pairs if name == model)
    raise ArgumentError(
        f"no {detector} with {model} is shipped: take {' or '.join(with_model)} with it, or {detector} with one of "
        f"{', '.join(others)}"
    )


def _pairs() -> dict[tuple[str, str], Path]:
    """(backbone, detector) -> its config; of several that with the plain schedule."""
    pairs: dict[tuple[str, str], Path] = {}
    for path in sorted(shipped_configs(), key=lambda path: ("_1x_" not in path.name, len(path.name), path.name)):
        found = _COCO.fullmatch(path.stem) or _ADE.fullmatch(path.stem)
        if found:
            family, _, size = found["model"].rpartition("-")
            detector = {"fpn": "semantic-fpn"}.get(found["detector"], found["detector"])
            if any(detector in names for names in DETECTORS.values()) and size in _SHORT:
                pairs.setdefault((f"{family}-{_SHORT[size]}", detector), path)
    return pairs


def _near(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"take one of {', '.join(known)}"
