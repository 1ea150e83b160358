"""Reading and writing weight files, without ever executing a pickle."""

import argparse
import hashlib
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

from csan_mm.checkpoint.old_torch import history_method, load_inert
from csan_mm.common.errors import ArgumentError, CheckpointError

#: Where the weights stand in the files people have, the averaged ones first; none of them: at top level.
WRAPPERS = ("state_dict_ema", "model_ema", "state_dict", "model", "model_state")

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
            return dict(file.metadata() or {})
    about = content.get("meta") if isinstance(content, Mapping) else None
    return dict(about) if isinstance(about, Mapping) else {}


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
        if not hasattr(torch.serialization, "safe_globals"):  # torch before 2.5
            return load_inert(path)
        with _inert_globals():
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        found = re.search(r"GLOBAL `?([\w.]+)", str(error))
        raise CheckpointError(_refused(path, found[1]) if found else _damaged(path, error)) from error
    except (RuntimeError, EOFError, ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        raise CheckpointError(_damaged(path, error)) from error


def save_file(
    state_dict: Mapping[str, Tensor], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Write weights so that a reader sees the whole file or none: a temporary name first, then a rename.

    Args:
        state_dict: Name -> tensor.
        path: Ends in .safetensors, .pth or .pt; a .pth holds ``dict(state_dict=..., meta=...)``.
        metadata: Strings kept beside the weights, to which ``sha256``, the weights' checksum, is added. Default: none.

    Raises:
        ValueError: Another suffix.
    """
    path = Path(path)
    if path.suffix not in (".safetensors", ".pth", ".pt"):
        raise ArgumentError(f"path={str(path)!r}: a weight file ends in .safetensors, .pth or .pt")
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in state_dict.items()}
    about = {**(metadata or {}), "sha256": checksum(tensors)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        if path.suffix == ".safetensors":
            safetensors.torch.save_file(tensors, temporary, metadata=about)
        else:
            torch.save({"state_dict": tensors, "meta": about}, temporary)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside ``path`` that becomes it when the block ends well, and goes away when it does not."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~_umask())  # safetensors writes for the owner alone
        os.replace(temporary, path)
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

    core = getattr(np, "_core", None) or np.core
    numpy_made = [core.multiarray._reconstruct, core.multiarray.scalar, np.ndarray, np.dtype]
    numpy_types = [type(np.dtype(kind)) for kind in ("f4", "f8", "i4", "i8", "b1")]
    methods = (history_method, "builtins.getattr")
    return torch.serialization.safe_globals([argparse.Namespace, HistoryBuffer, methods, *numpy_made, *numpy_types])


def _refused(path: Path, found: str) -> str:
    return (
        f"{path} holds the object {found} that only unpickling could make, and unpickling a file can run any code in it, so it "
        f"was not read. If you trust its source, pass --trust to the tool (trust=True in Python and configs)"
    )


def _damaged(path: Path, error: Exception) -> str:
    reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return f"{path} is not a readable checkpoint ({reason}): it may be truncated or of another kind; fetch it again"
