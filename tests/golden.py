"""Reading the golden files: a whole model's parameters, an input, and what the published formulas give for it.

The project's own stand in tests/golden, made by golden_make.py. Others, of larger networks, may be given in the folder golden/
of ``CSAN_MM_SHARED``; where there are any, every test of golden numbers runs on both.
"""

import ast
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

OWN = Path(__file__).parent / "golden"
#: Facts and real images that may lie beside the clone; no test needs them.
SHARED = Path(os.environ.get("CSAN_MM_SHARED", Path(__file__).parents[2] / "shared"))
GIVEN = SHARED / "golden"
FOLDERS = {"own": OWN, **({"given": GIVEN} if GIVEN.is_dir() else {})}

#: max |difference| over max |expected|; the outputs are stored in float32.
TOLERANCE = {torch.float32: 2e-4, torch.float64: 2e-6}


@dataclass
class Golden:
    """One file. ``about`` has what its metadata says of the network, by type: numbers, tuples, words."""

    state: dict[str, Tensor]
    image: Tensor
    outputs: dict[str, Tensor]
    about: dict[str, Any]

    def arch(self, *keys: str) -> dict[str, Any]:
        """The named entries of ``about``."""
        return {key: self.about[key] for key in keys}


def read_golden(folder: Path, name: str) -> Golden:
    """Read NAME.safetensors of a folder."""
    with safe_open(folder / f"{name}.safetensors", "pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (safe_open is no mapping)
        about = {key: value_of(text) for key, text in file.metadata().items()}
    split = {
        kind: {k.removeprefix(kind): v for k, v in tensors.items() if k.startswith(kind)}
        for kind in ("state/", "output/")
    }
    return Golden(split["state/"], tensors["input"], split["output/"], about)


def value_of(text: str) -> Any:
    """A number, list or tuple as such, all else as the word it is."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def assert_golden(got: Tensor, expected: Tensor) -> None:
    """Compare by the tolerance of ``got``'s type, relative to the largest expected value."""
    assert got.shape == expected.shape
    difference = (got - expected).abs().max() / expected.abs().max()
    assert difference <= TOLERANCE[got.dtype], f"differs by {difference:.2e} of the largest value"
