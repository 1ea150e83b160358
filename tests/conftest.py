"""Fixtures every test may use."""

import os
import random
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from golden import FOLDERS, SHARED
from mmengine.registry import DefaultScope

ROOT = Path(__file__).resolve().parents[1]
#: Where every test's random numbers start; ``make test-cpus`` tries others.
SEED = int(os.environ.get("CSAN_MM_TEST_SEED", "0"))
GIVEN_COCO = SHARED / "data" / "tiny_coco"


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


@pytest.fixture(scope="session", params=["drawn", "given"] if GIVEN_COCO.is_dir() else ["drawn"])
def coco_root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What COCO_ROOT may name: the project's small COCO, and real images of COCO where they lie beside the clone."""
    if request.param == "given":
        return GIVEN_COCO
    from coco_pictures import write_coco

    return write_coco(tmp_path_factory.mktemp("coco"))
