"""Fixtures every test may use."""

import os
import random
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.registry import DefaultScope

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _seeded() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _own_default_scope() -> Iterator[None]:
    """A Runner in one test must not decide in which registries the next one looks."""
    scopes = OrderedDict(DefaultScope._instance_dict)
    yield
    DefaultScope._instance_dict = scopes


@pytest.fixture(scope="session")
def repo_root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Golden files and real images that are kept beside the project, not in it (``CSAN_MM_SHARED`` overrides)."""
    path = Path(os.environ.get("CSAN_MM_SHARED", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"no folder {path}: set CSAN_MM_SHARED to the one that holds golden/ and data/")
    return path
