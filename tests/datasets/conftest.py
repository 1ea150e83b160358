"""A small digits data set in all three forms, rectangular so that swapped axes show."""

from pathlib import Path

import pytest

from csan_mm.datasets import DigitsGenerator, DigitsSpec, build_digits


@pytest.fixture(scope="session")
def small_spec() -> DigitsSpec:
    return DigitsSpec(train_count=12, val_count=11, image_size=(96, 128), digits_per_image=(1, 5), seed=7)


@pytest.fixture(scope="session")
def small_generator(small_spec: DigitsSpec) -> DigitsGenerator:
    return DigitsGenerator(small_spec)


@pytest.fixture(scope="session")
def small_digits(small_spec: DigitsSpec, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data") / "digits"
    build_digits(root, small_spec)
    return root
