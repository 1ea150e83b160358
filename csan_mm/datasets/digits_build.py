"""Makes a digits data set on disk in one piece: all of it is there, or nothing.

Every form is written into a staging folder next to its final place and renamed at the very end. A ``digits.json`` in
each form says which options made it and what its files add up to.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from csan_mm.common.errors import ArgumentError

from .digits import DigitsGenerator
from .digits_spec import DigitsSpec, spec_difference
from .digits_writers import WRITERS, write_json

FORMS = tuple(WRITERS)
DATASET = "csan_mm digits"
MANIFEST = "digits.json"
GENERATOR_VERSION = 1
"""Raise it with every change that makes other files from the same options."""


class DigitsExistError(ArgumentError):
    """The folder holds something else than the data set asked for."""


def build_digits(
    root: str | os.PathLike[str],
    spec: DigitsSpec | None = None,
    forms: Sequence[str] = FORMS,
    overwrite: bool = False,
) -> dict[str, Path]:
    """Write the digits data set, or keep the one that is already there.

    A form whose ``digits.json`` states the same options and whose files are unchanged is kept. The others are written
    into a staging folder first and renamed when all of them are complete, so that an interrupted run leaves none.

    Args:
        root: Where the folders ``coco``, ``ade20k`` and ``imagenet`` go; made if missing.
        spec: The options. Defaults to ``DigitsSpec()``.
        forms: Which of 'coco', 'ade20k' and 'imagenet' to write. Defaults to all three.
        overwrite: Replace a digits data set that was made with other options or was changed. A folder that is no
            digits data set is never replaced. Defaults to False.

    Returns:
        The folder of each form, in the order of ``forms``.

    Raises:
        ValueError: If ``forms`` is empty or names an unknown form, or the digits do not fit into the image.
        DigitsExistError: If a form's folder holds something else; names the difference.
        ImportError: If scikit-learn, or for the COCO form pycocotools, is missing.
    """
    spec = spec or DigitsSpec()
    if not forms or not set(forms) <= set(FORMS):
        raise ArgumentError(f"forms must name one or more of {', '.join(FORMS)}, got {forms!r}")
    root = Path(os.path.abspath(root))
    missing = [form for form in dict.fromkeys(forms) if not _is_kept(root / form, form, spec, overwrite)]
    if missing:
        generator = DigitsGenerator(spec)
        beside = root if root.exists() else root.parent  # on the same file system
        beside.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{root.name}.partial-", dir=beside) as staging:
            made = Path(staging, root.name)  # the temporary folder itself is closed to other users
            made.mkdir()
            for form in missing:
                _write_form(made / form, form, generator)
            _publish(made, root, missing, lambda form: _is_kept(root / form, form, spec, overwrite))
    return {form: root / form for form in forms}


def _write_form(folder: Path, form: str, generator: DigitsGenerator) -> None:
    folder.mkdir()
    WRITERS[form](folder, generator)
    write_json(folder / MANIFEST, {**_identity(form, generator.spec), "sha256": _checksum(folder)}, indent=2)


def _identity(form: str, spec: DigitsSpec) -> dict[str, Any]:
    return {"dataset": DATASET, "form": form, "generator_version": GENERATOR_VERSION, "spec": spec.to_dict()}


def _checksum(folder: Path) -> str:
    """Digest of the names and contents of all files below ``folder`` but its manifest and hidden files."""
    digest = hashlib.sha256()
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("[!.]*") if path.is_file())
    for name in names:
        if name != MANIFEST:
            digest.update(f"{name}\0".encode() + hashlib.sha256((folder / name).read_bytes()).digest())
    return digest.hexdigest()


def _is_kept(folder: Path, form: str, spec: DigitsSpec, overwrite: bool) -> bool:
    """Tell whether ``folder`` already is the form asked for; raise if it is not and may not be replaced."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    problem = _difference(folder, _read_manifest(folder), _identity(form, spec))
    if not problem:
        _log(f"{folder} already holds these digits and is kept")
        return True
    if not overwrite:
        raise DigitsExistError(f"{folder} holds other digits ({problem}); --overwrite (overwrite=True) replaces them")
    return False


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("dataset") != DATASET:
        raise DigitsExistError(f"{folder} exists and is not a digits data set (no {MANIFEST}): choose another folder")
    return manifest


def _difference(folder: Path, manifest: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Say in what ``manifest`` or the files beside it are not what is wanted; empty if they are."""
    for key in ("form", "generator_version"):
        if manifest.get(key) != wanted[key]:
            return f"{key} is {manifest.get(key)}, asked for {wanted[key]}"
    if manifest.get("spec") != wanted["spec"]:
        return spec_difference(manifest.get("spec") or {}, wanted["spec"])
    if manifest.get("sha256") != _checksum(folder):
        return "files were changed, added or removed since it was written"
    return ""


def _publish(made: Path, root: Path, forms: Sequence[str], is_kept: Callable[[str], bool]) -> None:
    """Rename the finished forms to their places; what they replace goes to the staging folder and is removed with it."""
    if not root.exists():
        try:
            made.rename(root)  # all forms at once
            return
        except OSError:
            if not root.exists():  # else another run was faster: its forms count as already there
                raise
    replaced = made / "replaced"
    replaced.mkdir()
    for form in forms:
        target = root / form
        if target.exists():
            if is_kept(form):
                continue
            target.rename(replaced / form)
        (made / form).rename(target)


def _log(message: str) -> None:
    from mmengine.logging import print_log  # not at the top: `csan_mm digits --help` reads this file

    print_log(message, logger="current")
