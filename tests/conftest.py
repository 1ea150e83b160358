"""Fixtures every test may use."""

import os
import random
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from golden import FOLDERS
from mmengine.registry import DefaultScope

ROOT = Path(__file__).resolve().parents[1]
#: Where every test's random numbers start; ``make test-cpus`` tries others.
SEED = int(os.environ.get("CSAN_MM_TEST_SEED", "0"))


def pytest_report_header() -> str:
    """What another run needs to meet the same numbers."""
    return f"CSAN_MM_TEST_SEED={SEED}, torch {torch.__version__} for {torch.backends.cpu.get_cpu_capability()}"


@pytest.fixture(autouse=True)
def _seeded() -> None:
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)


@pytest.fixture(autouse=True)
def _own_default_scope() -> Iterator[None]:
    """A Runner in one test must not decide in which registries the next one looks."""
    scopes = OrderedDict(DefaultScope._instance_dict)
    yield
    DefaultScope._instance_dict = scopes


@pytest.fixture(scope="session")
def repo_root() -> Path:
    return ROOT


@pytest.fixture(params=FOLDERS)
def golden_dir(request: pytest.FixtureRequest) -> Path:
    """A folder of golden files: the project's own, and the given ones where there are any."""
    return FOLDERS[request.param]


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Golden files and real images that are kept beside the project, not in it (``CSAN_MM_SHARED`` overrides)."""
    path = Path(os.environ.get("CSAN_MM_SHARED", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"no folder {path}: set CSAN_MM_SHARED to the one that holds golden/ and data/")
    return path
