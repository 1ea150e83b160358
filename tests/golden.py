"""Reading the golden files: a whole model's parameters, an input, and what the published formulas give for it."""

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

#: max |difference| over max |expected|; the outputs are stored in float32.
TOLERANCE = {torch.float32: 2e-4, torch.float64: 2e-6}


@dataclass
class Golden:
    state: dict[str, Tensor]
    image: Tensor
    outputs: dict[str, Tensor]
    about: dict[str, str]


def read_golden(shared_dir: Path, name: str) -> Golden:
    with safe_open(shared_dir / "golden" / f"{name}.safetensors", "pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (safe_open is no mapping)
        about = file.metadata()
    split = {
        kind: {k.removeprefix(kind): v for k, v in tensors.items() if k.startswith(kind)}
        for kind in ("state/", "output/")
    }
    return Golden(split["state/"], tensors["input"], split["output/"], about)


def assert_golden(got: Tensor, expected: Tensor) -> None:
    difference = (got - expected).abs().max() / expected.abs().max()
    assert got.shape == expected.shape
    assert difference <= TOLERANCE[got.dtype], f"differs by {difference:.2e} of the largest value"
