"""Windows: cutting and putting together, shifts, masks, the relative position index."""

import pytest
import torch

from csan_mm.layers.windows import MASKED, WindowGrid, relative_position_index

SIZES = [(1, 1), (7, 7), (7, 9), (8, 3), (14, 21), (10, 23)]


@pytest.mark.parametrize("shift", [0, 3])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_splitting_and_restoring_gives_the_map_back(size, shift):
    x = torch.randn(2, *size, 4)
    grid = WindowGrid(*size, 7, shift)
    assert torch.equal(grid.restore(grid.merge(grid.split(x))), x)


def test_a_window_holds_its_own_cells_row_by_row():
    x = torch.arange(4 * 6.0).reshape(1, 4, 6, 1)
    windows = WindowGrid(4, 6, 2).split(x).squeeze(-1)
    assert windows[0].tolist() == [0, 1, 6, 7]
    assert windows[4].tolist() == [14, 15, 20, 21]


@pytest.mark.parametrize(("size", "shift"), [((7, 7), (0, 0)), ((5, 20), (0, 3)), ((8, 7), (3, 0)), ((15, 15), (3, 3))])
def test_a_side_that_fits_into_one_window_is_not_shifted(size, shift):
    assert WindowGrid(*size, 7, 3).shift == shift


@pytest.mark.parametrize("size", [(14, 14), (10, 23), (7, 21), (5, 5)], ids=str)
def test_the_mask_parts_exactly_the_pairs_that_only_wrapping_brought_together(size):
    """Two cells of a window see each other unless the map's edge lies between them (loop over padded coordinates)."""
    grid = WindowGrid(*size, 7, 3)
    Hp, Wp = grid.padded
    place = torch.cartesian_prod(torch.arange(Hp), torch.arange(Wp)).reshape(1, Hp, Wp, 2)
    places = WindowGrid(Hp, Wp, 7, 3).split(place)  # (nW, 49, 2): where each cell stood before the shift
    mask = grid.mask(torch.zeros(1))
    for window in range(places.shape[0]):
        for i in range(0, 49, 5):
            for j in range(49):
                near = ((places[window, i] - places[window, j]).abs() < 7).all()
                assert mask[window, i, j].item() == (0.0 if near else MASKED)


def test_no_shift_has_no_mask():
    assert WindowGrid(14, 14, 7).mask(torch.zeros(1)) is None


@pytest.mark.parametrize("side", [1, 2, 7])
def test_relative_position_index_tells_offsets_apart(side):
    index = relative_position_index(side)
    cells = [(row, column) for row in range(side) for column in range(side)]
    for i, (y0, x0) in enumerate(cells):
        for j, (y1, x1) in enumerate(cells):
            assert index[i, j] == (y0 - y1 + side - 1) * (2 * side - 1) + (x0 - x1 + side - 1)
