"""Names of results: short where that is enough, never the same for two images."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csan_mm.common.result_names import result_names, short_names, with_ending


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/d/a/p0.png", "/d/b/p1.png"], ["p0", "p1"]),
        (["/d/cam1/0001.png", "/d/cam2/0001.png", "/d/cam2/0002.png"], ["cam1/0001", "cam2/0001", "cam2/0002"]),
        (["/d/p0.jpg", "/d/p0.png", "/d/p1.png"], ["p0.jpg", "p0.png", "p1"]),
        (["/d/p0.jpg", "/d/p0.png", "/d/p0.jpg.png"], ["p0.jpg", "p0.png", "p0.jpg.png"]),
        (["s3://one/a.png", "s3://two/a.png"], ["one/a", "two/a"]),
        (["/d/a.png", "/d/more/a.png"], ["a", "more/a"]),
        (["/d/v1.2.png"], ["v1.2"]),
    ],
    ids=["short", "folders", "suffixes", "a suffix in a name", "URLs", "nested", "a dot in a name"],
)
def test_names(paths, names):
    assert list(result_names(paths).values()) == [Path(name) for name in names]
    assert list(result_names(paths)) == paths


_PART = st.sampled_from(["a", "b", "a.jpg", "a.png", "a.jpg.png", "b.png"])


@given(st.lists(st.lists(_PART, min_size=1, max_size=3).map("/".join), min_size=1, max_size=8, unique=True))
def test_no_two_are_the_same_and_none_leaves_the_folder(paths):
    names = result_names([f"/data/{path}" for path in paths]).values()
    written = [with_ending(name, ".png") for name in names]
    assert len(set(written)) == len(paths)
    assert not any(name.is_absolute() or ".." in name.parts for name in written)
    assert len(set(short_names([Path(path) for path in paths]))) == len(paths)
