"""Training and validation for a detector: the data's own annotation files, or two lists made of one."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csan_mm.own_data.coco_files import CocoData, CocoFile
from csan_mm.own_data.code import Variable, code
from csan_mm.own_data.plan import Request
from csan_mm.own_data.split import held_out


@dataclass(frozen=True)
class Part:
    """Training or validation.

    Args:
        file: The annotation file, as an expression of the config.
        images: Their folder, below the root.
        ids: Of its images.
    """

    file: Variable
    images: str
    ids: frozenset


def parts(found: CocoData, annotated: set, request: Request) -> tuple[Part, Part, dict[Path, str]]:
    """Training, validation, and the lists to write: none where the data have both.

    Args:
        found: The annotation files.
        annotated: Ids of the training images that have something to learn from.
        request: What was asked for.
    """
    if found.val is not None:
        return _own(found.train, found.root), _own(found.val, found.root), {}
    content, folder = found.train.content, _below(found.train.images, found.root)
    names = {image["id"]: f"{image['file_name']} {image['id']}" for image in content["images"]}
    chosen = held_out(list(names.values()), [key in annotated for key in names], str(found.train.path))
    validate = {key for key, name in names.items() if name in chosen}
    made, lists = [], {}
    for ending, ids in (("_train.json", names.keys() - validate), ("_val.json", validate)):
        path = request.beside(ending)
        made.append(Part(Variable(code("{{ fileDirname }}/" + path.name)), folder, frozenset(ids)))
        lists[path] = json.dumps(_excerpt(content, ids))
    return made[0], made[1], lists


def _own(file: CocoFile, root: Path) -> Part:
    path = Variable("data_root + " + code(file.path.relative_to(root).as_posix()))
    return Part(path, _below(file.images, root), frozenset(image["id"] for image in file.content["images"]))


def _below(folder: Path, root: Path) -> str:
    """The folder as ``data_prefix`` has it: '' for the root itself, else with a slash at its end."""
    relative = folder.relative_to(root).as_posix()
    return "" if relative == "." else relative + "/"


def _excerpt(content: dict[str, Any], ids: set) -> dict[str, Any]:
    """The file for some of its images; what it says besides (info, licenses, categories) stays."""
    images = [image for image in content["images"] if image["id"] in ids]
    return {**content, "images": images, "annotations": [a for a in content["annotations"] if a["image_id"] in ids]}
