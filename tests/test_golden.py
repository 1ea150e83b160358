"""The golden files themselves: small enough to carry, made by the script beside them, and held by formulas without csan_mm."""

import pytest
import torch
from golden import OWN, read_golden
from golden_make import ABOUT, LARGEST, expected, parameters


def test_every_file_is_made_by_the_script_and_small():
    files = {path.stem: path.stat().st_size for path in OWN.glob("*.safetensors")}
    assert set(files) == set(ABOUT)
    assert max(files.values()) < LARGEST


@pytest.mark.parametrize("name", ABOUT)
@torch.no_grad()
def test_the_formulas_in_loops_hold_it(golden_dir, name):
    """Own and given files alike, on their first image: the loops are no reading of csan_mm's code but of the papers."""
    golden = read_golden(golden_dir, name)
    outputs = expected(golden.state, golden.image[:1], {"window_size": 7, **golden.about})
    assert set(outputs) >= set(golden.outputs)
    for key, value in golden.outputs.items():
        assert (outputs[key] - value[:1]).abs().max() <= 1e-6 * value.abs().max(), key


@pytest.mark.parametrize("name", ABOUT)
def test_the_parameters_are_the_scripts(name):
    """Names and shapes; the numbers may differ between versions of torch."""
    state = read_golden(OWN, name).state
    assert {key: value.shape for key, value in state.items()} == {
        key: value.shape for key, value in parameters(ABOUT[name]).items()
    }
