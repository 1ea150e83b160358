"""Reading and writing weight files, without ever executing a pickle."""

import argparse
import builtins
import hashlib
import importlib
import json
import os
import pickle
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from csan_mm.common.errors import ArgumentError, CheckpointError

#: Where the weights stand in the files people have, the averaged ones first; none of them: at top level.
WRAPPERS = ("state_dict_ema", "model_ema", "state_dict", "model", "model_state")

_WRITTEN_AS_JSON = ("dataset_meta", "epoch", "iter", "seed")

_HISTORY_METHODS = ("min", "max", "current", "mean")

_WRAPPING_PREFIX = re.compile(r"^(?:module\.|_orig_mod\.|backbone\.)+")


def load_file(path: str | os.PathLike[str], trust: bool = False) -> dict[str, Tensor]:
    """Read the weights of a .safetensors, .pth, .pt or .bin file.

    Finds them under ``state_dict_ema``, ``model_ema``, ``state_dict``, ``model``, ``model_state`` (the first that is there)
    or at top level, and strips ``module.``, ``_orig_mod.`` and ``backbone.`` from the names.

    Args:
        path: The file. Nothing is downloaded.
        trust: Unpickle a file that cannot be read otherwise, which runs the code in it. Default: False.

    Returns:
        Name -> tensor, on the CPU.

    Raises:
        FileNotFoundError: There is no such file.
        CheckpointError: It is damaged, would execute code, or holds no weights.

    Example:
        >>> state = load_file('swin_tiny_patch4_window7_224.pth')
    """
    return strip_prefixes(read_weights(path, trust)[0])


def read_weights(path: str | os.PathLike[str], trust: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Weights under the names the file has for them, and what :func:`save_file` or mmengine wrote about them.

    Raises:
        FileNotFoundError: There is no such file.
        CheckpointError: As :func:`load_file`, and where the weights are not those its checksum was made of.
    """
    content = safe_load(path, trust)
    about = _metadata(path, content)
    for key in WRAPPERS:
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
            break
    weights = {name: value for name, value in _items(content) if isinstance(value, Tensor)}
    if not weights:
        raise CheckpointError(f"{path} holds no weights: looked under {', '.join(WRAPPERS)} and at top level")
    if "sha256" in about and about["sha256"] != checksum(weights):
        raise CheckpointError(
            f"{path} was changed or damaged since it was written: its weights do not match its checksum"
        )
    return weights, about


def checksum(state_dict: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, types, shapes and values, the same in every file format."""
    digest = hashlib.sha256()
    for name in sorted(state_dict):
        value = state_dict[name].detach().cpu().contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _metadata(path: str | os.PathLike[str], content: Any) -> dict[str, Any]:
    if Path(path).suffix == ".safetensors":
        with safetensors.safe_open(path, "pt") as file:
            about = file.metadata() or {}
    else:
        meta = content.get("meta") if isinstance(content, Mapping) else None
        about = meta if isinstance(meta, Mapping) else {}
    # A .safetensors file has strings alone, and so had what earlier releases published as .pth.
    return {
        name: json.loads(value) if name in _WRITTEN_AS_JSON and isinstance(value, str) else value
        for name, value in about.items()
    }


def strip_prefixes(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Names without the ``module.``, ``_orig_mod.`` and ``backbone.`` they begin with, however often."""
    return {_WRAPPING_PREFIX.sub("", name): value for name, value in state_dict.items()}


def safe_load(path: str | os.PathLike[str], trust: bool = False) -> Any:
    """Everything a file holds, read without executing a pickle.

    Besides tensors and plain data only inert classes are allowed: ``argparse.Namespace`` (timm's and many authors' savers),
    numpy arrays, and what mmengine's own checkpoints hold.

    Args:
        path: The file.
        trust: Unpickle it all the same. Default: False.

    Raises:
        FileNotFoundError: There is no such file.
        CheckpointError: It is damaged, or it holds an object that only unpickling could make.
    """
    if "://" in os.fspath(path):
        raise CheckpointError(
            f"{os.fspath(path)} is a URL, and a file is read here: fetch it first and give the file's path"
        )
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"checkpoint file {path} {what}: check the path; nothing is downloaded")
    if path.suffix == ".safetensors":
        try:
            return safetensors.torch.load_file(path)
        except safetensors.SafetensorError as error:
            raise CheckpointError(_damaged(path, error)) from error
    try:
        if trust:
            return torch.load(path, map_location="cpu", weights_only=False)
        with _inert_globals():
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        found = re.search(r"GLOBAL `?([\w.]+)", str(error))
        raise CheckpointError(_refused(path, found[1]) if found else _damaged(path, error)) from error
    except (RuntimeError, EOFError, ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        raise CheckpointError(_damaged(path, error)) from error


def save_file(
    state_dict: Mapping[str, Tensor], path: str | os.PathLike[str], metadata: Mapping[str, Any] | None = None
) -> None:
    """Write weights so that a reader sees the whole file or none: a temporary name first, then a rename.

    Args:
        state_dict: Name -> tensor.
        path: Ends in .safetensors, .pth or .pt; a .pth holds ``dict(state_dict=..., meta=...)``.
        metadata: Plain data kept beside the weights, to which ``sha256``, the weights' checksum, is added; a .safetensors file
            has strings alone, so what is none is written there as JSON. Default: none.

    Raises:
        ValueError: Another suffix.
    """
    path = Path(path)
    require_suffix(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        write_weights(state_dict, temporary, path.suffix, metadata)


def require_suffix(path: Path) -> None:
    """Raise an ArgumentError unless ``path`` ends as a file of :func:`save_file` does."""
    if path.suffix not in (".safetensors", ".pth", ".pt"):
        raise ArgumentError(f"path={str(path)!r}: a weight file ends in .safetensors, .pth or .pt")


def write_weights(
    state_dict: Mapping[str, Tensor], path: Path, suffix: str, metadata: Mapping[str, Any] | None = None
) -> None:
    """Write a file of the kind that ``suffix`` names; as .pth the same weights and metadata give the same bytes."""
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in state_dict.items()}
    about = {**(metadata or {}), "sha256": checksum(tensors)}
    if suffix == ".safetensors":
        strings = {name: value if isinstance(value, str) else json.dumps(value) for name, value in about.items()}
        safetensors.torch.save_file(tensors, path, metadata=strings)
    else:
        with open(path, "wb") as file:  # given a path, torch writes its name into the file
            torch.save({"state_dict": tensors, "meta": about}, file)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path`` that becomes it when the block ends well, and goes away when it does not."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~_umask())  # safetensors writes for the owner alone
        os.replace(temporary, path)
    except OSError as error:
        if error.filename in (None, os.fspath(temporary)):  # a write to a full disk names no file at all
            error.filename = os.fspath(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _items(content: Any) -> Iterator[tuple[str, Any]]:
    return iter(content.items()) if isinstance(content, Mapping) else iter(())


def _inert_globals() -> Any:
    """Lets torch's weights-only reader make objects that hold data and do nothing."""
    import numpy as np
    from mmengine.logging import HistoryBuffer

    core = importlib.import_module("numpy.core" if np.__version__.startswith("1.") else "numpy._core")
    # Under both names, so that a numpy reads the files of the other kind too.
    numpy_made: list[Any] = [
        (getattr(core.multiarray, name), f"numpy.{package}.multiarray.{name}")
        for name in ("_reconstruct", "scalar")
        for package in ("core", "_core")
    ]
    numpy_made += [np.ndarray, np.dtype]
    numpy_types = [type(np.dtype(kind)) for kind in ("f4", "f8", "i4", "i8", "b1")]
    methods = (history_method, "builtins.getattr")
    return torch.serialization.safe_globals([argparse.Namespace, HistoryBuffer, methods, *numpy_made, *numpy_types])


def history_method(owner: Any, name: str) -> Any:
    """A history buffer refers to its own methods, which pickle writes as ``getattr(HistoryBuffer, name)``."""
    from mmengine.logging import HistoryBuffer

    if owner is not HistoryBuffer or name not in _HISTORY_METHODS:
        raise pickle.UnpicklingError(f"GLOBAL getattr of {owner!r}")
    return builtins.getattr(owner, name)


def _refused(path: Path, found: str) -> str:
    return (
        f"{path} holds the object {found} that only unpickling could make, and unpickling a file can run any code in it, so it "
        f"was not read. If you trust its source, pass --trust to the tool (trust=True in Python and configs)"
    )


def _damaged(path: Path, error: Exception) -> str:
    reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return f"{path} is not a readable checkpoint ({reason}): it may be truncated or of another kind; fetch it again"
