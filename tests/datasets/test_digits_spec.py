"""Options of the digits data set: what is accepted, what is refused and how it is said."""

import json

import pytest

from csan_mm.datasets import DIGITS_CLASSES, DIGITS_METAINFO, DIGITS_PALETTE, DIGITS_SEG_METAINFO, DigitsSpec
from csan_mm.datasets.digits_spec import spec_difference


def test_one_number_means_a_square_and_pairs_may_be_lists():
    assert DigitsSpec(image_size=64).image_size == (64, 64)
    assert DigitsSpec(image_size=[64, 96], digits_per_image=[2, 3]) == DigitsSpec(
        image_size=(64, 96), digits_per_image=(2, 3)
    )


@pytest.mark.parametrize(
    ("image_size", "expected"),
    [(128, (24, 56)), ((256, 64), (12, 28)), (32, (8, 14))],
    ids=["default", "shorter side", "smallest image"],
)
def test_digit_side_follows_the_shorter_image_side(image_size, expected):
    assert DigitsSpec(image_size=image_size).digit_side == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train_count": 0}, "train_count must be at least 1, got 0"),
        ({"val_count": -3}, "val_count must be at least 1, got -3"),
        ({"val_count": 2.5}, "val_count must be a whole number, got 2.5"),
        ({"train_count": True}, "train_count must be a whole number, got True"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"image_size": 31}, "image_size must be at least 32, got 31"),
        ({"image_size": (64, 64, 3)}, "image_size must be two whole numbers"),
        ({"image_size": "64"}, "image_size must be two whole numbers"),
        ({"digits_per_image": (0, 3)}, "digits_per_image must be at least 1, got 0"),
        ({"digits_per_image": (3, 2)}, r"digits_per_image must be \(least, greatest\), got \(3, 2\)"),
        ({"digits_per_image": 3}, "digits_per_image must be two whole numbers, got 3"),
        ({"digit_side": (7, 20)}, "digit_side must be at least 8, got 7"),
        ({"digit_side": (20, 65)}, "digit_side goes up to 65 pixels; in 128x128 images at most 64 would do"),
        ({"empty_fraction": 1.1}, "empty_fraction must lie between 0 and 1, got 1.1"),
        ({"empty_fraction": "0.1"}, "empty_fraction must be a number from 0 to 1, got '0.1'"),
        ({"empty_fraction": float("nan")}, "empty_fraction must lie between 0 and 1, got nan"),
    ],
    ids=lambda value: "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        DigitsSpec(**options)


def test_to_dict_survives_json_and_builds_the_same_spec():
    spec = DigitsSpec(train_count=3, image_size=(64, 96), empty_fraction=0.25, seed=5)
    again = json.loads(json.dumps(spec.to_dict()))
    assert again == spec.to_dict()
    assert DigitsSpec(**again) == spec


def test_difference_names_only_what_differs():
    existing = DigitsSpec(seed=1, train_count=10).to_dict()
    assert spec_difference(existing, existing) == ""
    assert (
        spec_difference(existing, DigitsSpec(seed=2, train_count=20).to_dict())
        == "seed is 1, asked for 2, train_count is 10, asked for 20"
    )


def test_metainfo_has_one_distinct_colour_per_class():
    assert tuple(str(digit) for digit in range(10)) == DIGITS_CLASSES
    for metainfo, length in ((DIGITS_METAINFO, 10), (DIGITS_SEG_METAINFO, 11)):
        assert len(metainfo["classes"]) == len(metainfo["palette"]) == length
        assert len({tuple(colour) for colour in metainfo["palette"]}) == length
    assert DIGITS_METAINFO["palette"] is DIGITS_PALETTE
    assert DIGITS_SEG_METAINFO["classes"][1:] == DIGITS_CLASSES
