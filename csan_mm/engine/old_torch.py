"""Reading training checkpoints safely on torch before 2.5, whose weights-only reader knows tensors and nothing else.

What mmengine saves beside the weights (its history buffers, numpy arrays in them) is let through by name; everything else that a
pickle could import is refused before it is looked up.
"""

import builtins
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from csan_mm.checkpoint import CheckpointError

#: Classes and functions that hold or rebuild data and do nothing else.
INERT = {
    "_codecs": ("encode",),
    "argparse": ("Namespace",),
    "builtins": ("bytearray", "complex", "frozenset", "set", "slice"),
    "collections": ("OrderedDict", "defaultdict"),
    "mmengine.logging.history_buffer": ("HistoryBuffer",),
    "numpy": ("dtype", "ndarray"),
    "numpy.core.multiarray": ("_reconstruct", "scalar"),
    "numpy._core.multiarray": ("_reconstruct", "scalar"),
    "torch": ("Size", "Tensor", "device"),
    "torch._utils": ("_rebuild_parameter", "_rebuild_tensor_v2"),
    "torch.nn.parameter": ("Parameter",),
}
HISTORY_METHODS = ("min", "max", "current", "mean")


class InertUnpickler(pickle.Unpickler):
    """Imports what ``INERT`` names, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """Called by pickle for every global of the file; torch.save writes the names of Python 2."""
        module = {"__builtin__": "builtins"}.get(module, module)
        if (module, name) == ("builtins", "getattr"):
            return _history_method
        if name in INERT.get(module, ()) or (module == "numpy.dtypes" and name.endswith("DType")):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")


def load_inert(path: Path) -> Any:
    """Read a checkpoint of mmengine's, to the CPU.

    Args:
        path: A file of ``torch.save``.

    Raises:
        CheckpointError: It is damaged, or holds an object of another class.
    """
    reader = SimpleNamespace(
        Unpickler=InertUnpickler, load=lambda file, **options: InertUnpickler(file, **options).load()
    )
    reader.__name__ = "pickle"
    try:
        return torch.load(path, map_location="cpu", pickle_module=reader, weights_only=False)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path} holds the object {error} that only unpickling could make, or is damaged, so it was not read"
        ) from error
    except (RuntimeError, EOFError, ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        raise CheckpointError(f"{path} is not a readable checkpoint ({error}): it may be truncated") from error


def _history_method(owner: Any, name: str) -> Any:
    """A history buffer refers to its own methods, which pickle writes as ``getattr(HistoryBuffer, name)``."""
    from mmengine.logging import HistoryBuffer

    if owner is not HistoryBuffer or name not in HISTORY_METHODS:
        raise pickle.UnpicklingError(f"getattr({owner!r}, {name!r})")
    return builtins.getattr(owner, name)
