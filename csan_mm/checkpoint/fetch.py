"""Checkpoints named by a scheme of mmengine's (https://, torchvision://, ...): fetched as files, then read without unpickling.

mmengine's own loaders unpickle what they fetch. Names are resolved by its lists, and files lie where torch.hub and mmengine
keep theirs, ``torch.hub.get_dir()``/checkpoints, so that a node without internet finds what was fetched before.
"""

import difflib
import os
import tempfile
import urllib.error
import urllib.parse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from mmengine.fileio import get_file_backend
from mmengine.runner import CheckpointLoader
from mmengine.runner import checkpoint as theirs

from csan_mm.checkpoint.files import safe_load
from csan_mm.common.errors import CheckpointError, UserError
from csan_mm.common.processes import decided_by_main

#: From a checkpoint's name to its content.
Loader = Callable[[str], dict[str, Any]]

#: Schemes whose names stand in one of mmengine's lists.
_LISTED = ("torchvision://", "modelzoo://", "open-mmlab://", "openmmlab://")


def safe_loaders(trust: bool) -> dict[str, Callable[..., dict[str, Any]]]:
    """A loader for every scheme that mmengine knows at this moment, by its prefix (a regular expression).

    Args:
        trust: Unpickle what cannot be read otherwise, and leave schemes of other packages to their own loaders.
    """
    by_backend: dict[str, tuple[tuple[str, ...], Loader]] = {
        "local": (("",), lambda name: _read(name, trust)),
        "http": (("http://", "https://"), lambda url: _read(fetch(url), trust)),
        "list": (_LISTED, lambda name: _read(_named(name), trust)),
        "mmcls": (("mmcls://",), lambda name: theirs._process_mmcls_checkpoint(_read(_named(name), trust))),
        "bucket": ((r"(\S+\:)?s3://", r"(\S+\:)?petrel://"), lambda name: _from_bucket(name, trust)),
    }
    ours = {
        prefix: _as_mmengine_calls(loader, backend)
        for backend, (prefixes, loader) in by_backend.items()
        for prefix in prefixes
    }
    others = [] if trust else [prefix for prefix in CheckpointLoader._schemes if prefix not in ours]
    return ours | {prefix: _as_mmengine_calls(_refuse, "no") for prefix in others}


def _as_mmengine_calls(loader: Loader, backend: str) -> Callable[..., dict[str, Any]]:
    """A loader with the arguments mmengine gives; everything comes to the CPU, and moves with the parameters it belongs to."""

    def load(filename: str, map_location: Any = None) -> dict[str, Any]:
        return loader(filename)

    load.__name__ = f"load_from_{backend}"  # mmengine logs what follows load_from_
    return load


def require_checkpoint(checkpoint: str) -> None:
    """Refuse the path of a file that is not there; a name with a scheme is left to its loader.

    Raises:
        CheckpointError: There is no such file.
    """
    if "://" not in checkpoint and not Path(checkpoint).expanduser().is_file():
        raise CheckpointError(f"checkpoint {checkpoint} does not exist: check the path")


def fetch(url: str) -> Path:
    """Download a file, unless a file of its name was fetched before; in the main process first.

    Args:
        url: http:// or https://.

    Returns:
        Where it lies: ``torch.hub.get_dir()``/checkpoints, under the last part of the URL's path.

    Raises:
        CheckpointError: It cannot be fetched.
    """
    name = Path(urllib.parse.unquote(urllib.parse.urlparse(url).path)).name
    if not name:
        raise CheckpointError(f"{url} names no file: give the URL of a checkpoint")
    target = Path(torch.hub.get_dir()) / "checkpoints" / name
    decided_by_main(partial(_download, url, target))
    _download(url, target)  # what a node with a disk of its own has to do as well
    return target


def _download(url: str, target: Path) -> None:
    if target.is_file():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        torch.hub.download_url_to_file(url, str(target), progress=os.isatty(2))
    except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
        reason = getattr(error, "reason", None) or error
        raise CheckpointError(
            f"{url} cannot be fetched ({reason}): check the URL, or fetch it elsewhere and give the file's path, or put it at "
            f"{target}"
        ) from error


def _named(name: str) -> Path:
    """The file that one of mmengine's lists of models has under a name such as torchvision://resnet50."""
    scheme, _, model = name.partition("://")
    if scheme in ("torchvision", "modelzoo"):
        place = _look_up(name, model, theirs.get_torchvision_models())
    elif scheme == "mmcls":
        place = _look_up(name, model, theirs.get_mmcls_models())
    else:
        model = theirs.get_deprecated_model_names().get(model, model)
        place = _look_up(name, model, theirs.get_external_models())
    return fetch(place) if "://" in place else Path(theirs._get_mmengine_home()) / place


def _look_up(name: str, model: str, places: Mapping[str, str]) -> str:
    if model not in places:
        near = ", ".join(difflib.get_close_matches(model, places, n=3)) or "a file's path or URL"
        raise CheckpointError(f"checkpoint {name}: mmengine's list has no such model: take {near}")
    return places[model]


def _read(path: str | os.PathLike[str], trust: bool) -> dict[str, Any]:
    content = safe_load(Path(path).expanduser(), trust)
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} holds a {type(content).__name__} and no weights by name")
    return content


def _from_bucket(name: str, trust: bool) -> dict[str, Any]:
    """s3:// and petrel://, by mmengine's petrel backend."""
    try:
        content = get_file_backend(name, backend_args={"backend": "petrel"}).get(name)
    except ImportError as error:
        raise CheckpointError(
            f"{name} cannot be fetched (mmengine's backend for it: {error}): fetch it with your storage's own client and give "
            f"the file's path"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / Path(name).name
        copy.write_bytes(content)
        try:
            return _read(copy, trust)
        except UserError as error:
            raise CheckpointError(str(error).replace(str(copy), name)) from error


def _refuse(name: str) -> dict[str, Any]:
    raise CheckpointError(
        f"{name}: the loader of this scheme unpickles what it fetches, which runs any code in it, so it was not called: fetch "
        f"the file and give its path, or pass --trust if you trust its source"
    )
