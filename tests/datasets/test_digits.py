"""The digits generator: streams, pools, what is visible, and that pixels, masks and boxes agree."""

import builtins
import re

import numpy as np
import pytest

from csan_mm.common.install import install_command
from csan_mm.datasets import DigitsGenerator, DigitsSpec
from csan_mm.datasets.digits import load_sources
from csan_mm.datasets.digits_layout import MAX_BOX_IOU, MIN_VISIBLE, Placed, place_digits, tight_box, visible_masks
from csan_mm.datasets.digits_render import LUMINANCE, background, digit_alpha, readable_colour

SPLITS = ("train", "val")


def describe(scene):
    return [(instance.source, instance.label, instance.box) for instance in scene.instances]


def same(first, second):
    return np.array_equal(first.image, second.image) and describe(first) == describe(second)


def test_the_default_data_set_is_pinned():
    """If this change was meant, raise GENERATOR_VERSION in digits_build.py: figures measured before no longer hold."""
    generator = DigitsGenerator(DigitsSpec())
    assert describe(generator.scene("train", 0)) == [(435, 0, (84, 79, 18, 34))]
    assert describe(generator.scene("val", 0)) == [(1162, 5, (13, 99, 20, 28))]
    assert describe(generator.crop("train", 0)) == [(516, 0, (71, 40, 43, 74))]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("form", ["scene", "crop"])
def test_an_image_depends_on_neither_the_counts_nor_the_order(split, form):
    few = getattr(DigitsGenerator(DigitsSpec(train_count=5, val_count=5)), form)
    many = getattr(DigitsGenerator(DigitsSpec(train_count=50, val_count=70)), form)
    forwards = [few(split, index) for index in range(5)]
    backwards = [many(split, index) for index in reversed(range(5))]
    assert all(same(a, b) for a, b in zip(forwards, reversed(backwards)))
    assert not any(same(a, b) for a, b in zip(forwards, backwards[:2]))


def test_another_seed_gives_other_images_and_pools():
    first, second = DigitsGenerator(DigitsSpec(seed=0)), DigitsGenerator(DigitsSpec(seed=1))
    assert not same(first.scene("train", 0), second.scene("train", 0))
    assert not np.array_equal(first.pool("val"), second.pool("val"))


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_pools_share_nothing_and_cover_all_digits(seed):
    generator = DigitsGenerator(DigitsSpec(seed=seed))
    train, val = (set(generator.pool(split).tolist()) for split in SPLITS)
    assert not train & val
    assert train | val == set(range(1797))
    assert set(generator.sources.labels[sorted(val)]) == set(range(10))


def test_instances_come_from_their_pool_with_their_true_label(small_generator):
    labels = load_sources().labels
    for split in SPLITS:
        for draw in (small_generator.scene, small_generator.crop):
            for instance in (instance for index in range(11) for instance in draw(split, index).instances):
                assert instance.source in small_generator.pool(split)
                assert instance.label == labels[instance.source]


def test_photograph_parts_share_no_pixel():
    columns = np.broadcast_to(np.arange(256, dtype=np.uint8)[None, :, None], (40, 256, 3))  # a pixel tells its column
    rng = np.random.default_rng(0)
    seen = {split: [background(columns, split, (40, 40), rng) for _ in range(60)] for split in SPLITS}
    brightest = {split: max(crop.max() for crop in crops) for split, crops in seen.items()}
    assert brightest["train"] <= 159.5  # columns 0 to 159, brightness at most 1
    assert all((crop.max() / crop.min()) <= 255 / 160 + 0.02 for crop in seen["val"])  # within columns 160 to 255


def test_masks_are_disjoint_and_boxes_tight(small_generator):
    for split in SPLITS:
        for index in range(11):
            scene = small_generator.scene(split, index)
            covered = sum(instance.mask.astype(int) for instance in scene.instances)
            assert covered.max() == 1
            for instance in scene.instances:
                x, y, width, height = instance.box
                inside = instance.mask[y : y + height, x : x + width]
                assert inside.sum() == instance.mask.sum()
                assert inside[0].any()
                assert inside[-1].any()
                assert inside[:, 0].any()
                assert inside[:, -1].any()


def test_masks_are_the_pixels_that_differ_from_the_photograph(small_spec, small_generator):
    """The same stream without digits gives the bare crop: what was pasted is where the two differ."""
    bare = DigitsGenerator(DigitsSpec(**{**small_spec.to_dict(), "empty_fraction": 1.0}))
    for index in range(12):
        scene, photograph = small_generator.scene("train", index), bare.scene("train", index)
        assert photograph.instances == ()
        changed = (scene.image.astype(int) - photograph.image.astype(int)) != 0
        mask = scene.label_map > 0
        assert changed.any(-1)[mask].all()  # every pixel of a mask was painted
        soft_edge = changed.any(-1) & ~mask  # antialiasing reaches a little further
        assert soft_edge.sum() < 0.6 * mask.sum()
        strong = np.abs(scene.image.astype(int) - photograph.image.astype(int)) @ LUMINANCE > 60
        assert (strong & ~mask).sum() < 0.05 * mask.sum()


def test_label_map_is_the_instances(small_generator):
    for index in range(12):
        scene = small_generator.scene("train", index)
        expected = np.zeros((96, 128), dtype=np.uint8)
        for instance in scene.instances:
            expected += instance.mask * np.uint8(instance.label + 1)  # masks are disjoint
        assert np.array_equal(scene.label_map, expected)


def test_number_and_size_of_digits_keep_to_the_range():
    spec = DigitsSpec(digits_per_image=(2, 4), digit_side=(20, 30))
    scenes = [DigitsGenerator(spec).scene("train", index) for index in range(60)]
    assert {len(scene.instances) for scene in scenes} == {2, 3, 4}
    heights = [placed[3] for scene in scenes for _, _, placed in describe(scene)]
    assert min(heights) >= 8
    assert max(heights) <= 30 * 1.25


def test_empty_fraction_is_a_probability():
    generator = DigitsGenerator(DigitsSpec(image_size=32, empty_fraction=0.3))
    empty = sum(not generator.scene("train", index).instances for index in range(300))
    assert 60 <= empty <= 120  # 90 expected, standard deviation 8
    assert all(generator.crop("train", index).instances for index in range(20))


def test_too_many_digits_are_refused_by_name():
    generator = DigitsGenerator(DigitsSpec(image_size=32, digits_per_image=(40, 40)))
    with pytest.raises(ValueError, match=r"digits_per_image 40 to 40 .* does not fit into image_size 32x32"):
        generator.scene("train", 0)


@pytest.mark.parametrize("image_size", [32, (32, 200), (171, 33)], ids=str)
def test_crops_take_turns_in_class_and_fill_the_image(image_size):
    generator = DigitsGenerator(DigitsSpec(image_size=image_size))
    for index in range(40):
        (instance,) = generator.crop("val", index).instances
        assert instance.label == index % 10
        assert instance.box[3] >= 0.4 * 32


def test_layout_keeps_digits_in_sight_and_boxes_apart():
    sources, size = load_sources(), (96, 96)
    rng = np.random.default_rng(3)
    overlaps = 0
    for _ in range(40):
        placed = place_digits(sources.ink, rng.integers(1797, size=5), (20, 40), size, rng)
        if placed is None:
            continue
        for digit, visible in zip(placed, visible_masks(placed, size)):
            whole = digit.mask(size)
            assert whole.sum() == (digit.alpha >= 0.5).sum()  # fully inside the image
            assert visible.sum() >= MIN_VISIBLE * whole.sum()
            overlaps += visible.sum() < whole.sum()
        boxes = [tight_box(digit.mask(size)) for digit in placed]
        for i, (x, y, w, h) in enumerate(boxes):
            for other_x, other_y, other_w, other_h in boxes[:i]:
                shared = max(0, min(x + w, other_x + other_w) - max(x, other_x)) * max(
                    0, min(y + h, other_y + other_h) - max(y, other_y)
                )
                assert shared / (w * h + other_w * other_h - shared) <= MAX_BOX_IOU
    assert overlaps > 10  # the bounds were put to the test


def test_the_later_digit_wins():
    square = np.ones((2, 2), dtype=np.float32)
    below, above = visible_masks([Placed(0, square, 0, 0), Placed(1, square, 1, 1)], (3, 3))
    assert below.astype(int).tolist() == [[1, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert above.astype(int).tolist() == [[0, 0, 0], [0, 1, 1], [0, 1, 1]]


def test_tight_box_of_one_pixel():
    mask = np.zeros((5, 7), dtype=bool)
    mask[3, 6] = True
    assert tight_box(mask) == (6, 3, 1, 1)


def test_colour_stays_readable():
    rng = np.random.default_rng(0)
    for level in np.linspace(0, 255, 52):
        under = np.full((9, 3), level, dtype=np.float32)
        colour = readable_colour(under, rng)
        assert colour.min() >= 0
        assert colour.max() <= 255
        assert abs(float(colour @ LUMINANCE) - level) > 60  # 100 and more, less what clipping takes


def test_every_digit_has_a_shape():
    """No handwriting is so faint that its mask is empty or spills over the whole cell."""
    rng = np.random.default_rng(0)
    shares = [(digit_alpha(ink, 32, rng) >= 0.5).mean() for ink in load_sources().ink]
    assert min(shares) > 0.1
    assert max(shares) < 0.95


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    real_import = builtins.__import__

    def no_sklearn(name, *args, **kwargs):
        if name.startswith("sklearn"):
            raise ImportError(f"No module named '{name}'")
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_sklearn)
    load_sources.cache_clear()
    with pytest.raises(ImportError, match=re.escape(install_command("digits"))):
        DigitsGenerator(DigitsSpec())
