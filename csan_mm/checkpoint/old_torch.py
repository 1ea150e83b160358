"""Reading checkpoints safely on torch before 2.5, whose weights-only reader knows tensors and nothing else.

What mmengine saves beside the weights (its history buffers, numpy arrays in them) is let through by name; everything else that a
pickle could import is refused before it is looked up.
"""

import builtins
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

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
            return history_method
        if name in INERT.get(module, ()) or (module == "numpy.dtypes" and name.endswith("DType")):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"GLOBAL {module}.{name} is none of them")


def load_inert(path: Path) -> Any:
    """Read a file of ``torch.save`` to the CPU.

    Raises:
        UnpicklingError: It holds an object of another class, or is damaged.
    """
    reader = SimpleNamespace(
        Unpickler=InertUnpickler, load=lambda file, **options: InertUnpickler(file, **options).load()
    )
    reader.__name__ = "pickle"
    return torch.load(path, map_location="cpu", pickle_module=reader, weights_only=False)


def history_method(owner: Any, name: str) -> Any:
    """A history buffer refers to its own methods, which pickle writes as ``getattr(HistoryBuffer, name)``."""
    from mmengine.logging import HistoryBuffer

    if owner is not HistoryBuffer or name not in HISTORY_METHODS:
        raise pickle.UnpicklingError(f"GLOBAL getattr of {owner!r}")
    return builtins.getattr(owner, name)
