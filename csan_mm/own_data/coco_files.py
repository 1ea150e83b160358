"""COCO annotation files in a folder of any usual layout, and the folders their images lie in."""

from dataclasses import dataclass
from os import path as osp
from pathlib import Path
from typing import Any

from csan_mm.common.errors import UserError
from csan_mm.own_data.tree import describe, files, folders, part_of
from csan_mm.preflight.coco_types import check_form
from csan_mm.preflight.samples import read_json

#: COCO's files for other tasks, which have the same lists.
_OTHER_TASKS = ("captions_", "person_keypoints_", "panoptic_", "stuff_", "image_info_")

_LISTS = ("images", "annotations", "categories")

#: How many images of a file are looked for in each folder.
_PROBES = 20


@dataclass(frozen=True)
class CocoFile:
    """An annotation file.

    Args:
        path: It.
        part: 'train', 'val', 'test', or None where no name says.
        content: What it holds, in COCO's instances form.
        images: The folder that its file names are relative to.
    """

    path: Path
    part: str | None
    content: dict[str, Any]
    images: Path


@dataclass(frozen=True)
class CocoData:
    """What a folder has.

    Args:
        root: The folder.
        train: Annotations to train on.
        val: To validate on; None where a part of ``train`` has to.
    """

    root: Path
    train: CocoFile
    val: CocoFile | None


def find_coco(data: Path) -> CocoData | None:
    """The annotations to train on and those to validate on; None where the folder has no COCO file at all.

    Args:
        data: A folder, or one annotation file.

    Raises:
        UserError: Two could be the same part, there are none to train on, or one is damaged.
    """
    if data.is_file():
        return _given(data)
    places = folders(data)
    paths = [path for folder in places for path in files(folder) if path.suffix.lower() == ".json"]
    contents = ((path, _coco(path)) for path in paths if not path.name.startswith(_OTHER_TASKS))
    found = [_opened(path, content, data, places) for path, content in contents if content is not None]
    if not found:
        return None
    named = {file.part for file in found}
    train = _only(found, "train" if "train" in named else None, data)
    if train is None:
        parts = ", ".join(f"{file.path.relative_to(data)} ({file.part})" for file in found)
        raise UserError(f"{data} has no annotations to train on: found {parts}; name one of them train.json")
    return CocoData(data, train, _only(found, "val", data))


def _given(path: Path) -> CocoData:
    """The one file that is given; its images lie beside it, or beside its folder of annotations."""
    content = _coco(path)
    if content is None:
        raise UserError(f"{path} is no COCO annotation file: it must hold the lists {', '.join(_LISTS)}")
    root = path.parent.parent if path.parent.name.startswith("annotation") else path.parent
    return CocoData(root, _opened(path, content, root, folders(root)), None)


def _coco(path: Path) -> dict[str, Any] | None:
    """The content of a file with COCO's lists, None of another."""
    try:
        content = read_json(str(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is not readable JSON ({error}): write it again, or move it elsewhere") from error
    right = isinstance(content, dict) and all(isinstance(content.get(name), list) for name in _LISTS)
    return content if right else None


def _opened(path: Path, content: dict[str, Any], root: Path, places: list[Path]) -> CocoFile:
    for fault in check_form(content, str(path), "--data", True):
        raise UserError(f"{fault.subject} {fault.says}: {fault.cure}")
    part = part_of(path, root)
    return CocoFile(path, part, content, _image_folder(path, part, content, root, places))


def _only(found: list[CocoFile], part: str | None, data: Path) -> CocoFile | None:
    those = [file for file in found if file.part == part]
    if len(those) > 1:
        names = " and ".join(str(file.path.relative_to(data)) for file in those[:3])
        what = {"train": "training", "val": "validation"}.get(part or "train")
        raise UserError(
            f"{names} could both be the {what} annotations of {data}: give the one to train on as --data, or name them "
            "train.json and val.json"
        )
    return those[0] if those else None


def _image_folder(path: Path, part: str | None, content: dict[str, Any], root: Path, places: list[Path]) -> Path:
    """The folder that has most of the file's images; of several, one whose name is of the same part, then the nearest."""
    names = [image["file_name"] for image in content["images"]]
    if not names:
        raise UserError(f"{path} lists no image: give annotations with images")
    probes = names[:: max(1, len(names) // _PROBES)]

    def rank(folder: Path) -> tuple[int, bool, bool, int]:
        hits = sum(osp.isfile(folder / name) for name in probes)
        same_part = part is not None and part_of(folder, root) == part
        return hits, same_part, folder == path.parent, -len(folder.parts)

    best = max(places, key=rank)
    if not rank(best)[0]:
        raise UserError(
            f"{path} lists images such as {probes[0]!r}, and no folder in {root} has it (found {describe(root)}): put the "
            "images there"
        )
    return best
