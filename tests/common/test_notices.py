"""Notices of other packages are left out of stdout; everything else passes as it was written."""

import sys
import warnings

import pytest

from csan_mm.common.notices import PRINTED, WARNED, without_notices


def test_only_notices_are_left_out(capsys):
    with without_notices():
        print("first")
        for notice in PRINTED:
            print(notice + " and what follows")
        print("Done")
        print()
        print("a", "b", sep="\n")
        sys.stdout.write("\rbar 1/2")
        sys.stdout.flush()
    assert capsys.readouterr().out == "first\nDone\n\na\nb\n\rbar 1/2"


def test_stdout_and_filters_come_back_after_an_error(capsys):
    before, filters = sys.stdout, list(warnings.filters)
    with pytest.raises(ZeroDivisionError), without_notices():
        raise ZeroDivisionError
    assert sys.stdout is before
    assert warnings.filters == filters
    print(PRINTED[0])
    assert capsys.readouterr().out == PRINTED[0] + "\n"


def test_warnings_of_others_are_left_out_and_ours_are_not():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with without_notices():
            for beginning in WARNED:
                warnings.warn(f"{beginning} and what follows", stacklevel=1)
            warnings.warn("the learning rate is high", stacklevel=1)
    assert [str(warning.message) for warning in caught] == ["the learning rate is high"]
