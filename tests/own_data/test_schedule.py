"""Batch, rate, length and scales: the rules as figures."""

import pytest
from mmengine.config import Config

from csan_mm.common.package_configs import configs_folder
from csan_mm.own_data.scales import crop_side, detection_scale
from csan_mm.own_data.schedule import epochs, fit_batch, iterations


def recipe(name: str) -> Config:
    return Config.fromfile(configs_folder() / name)


COCO = "csan/mask-rcnn_swin-csan-t_fpn_1x_coco.py"
ADE = "csan/swin-csan-t_upernet_8xb2-160k_ade20k-512x512.py"


@pytest.mark.parametrize(
    ("gpus", "images", "total", "rate"), [(0, 100, 2, 1.25e-5), (8, 100, 16, 1e-4), (4, 4, 4, 2.5e-5)]
)
def test_the_rate_is_linear_in_the_batch(gpus, images, total, rate):
    batch = fit_batch(recipe(COCO), gpus, images)
    assert batch.total == total
    assert batch.rate == pytest.approx(rate)
    assert batch.processes == max(1, gpus)


def test_large_data_keep_the_recipe():
    length = epochs(recipe(COCO), images=100_000, batch=16)
    assert (length.number, length.recipe, length.schedulers) == (12, 12, None)
    length = iterations(recipe(ADE), images=20210, batch=16)
    assert (length.number, length.schedulers) == (160_000, None)


def test_few_images_make_more_epochs_and_a_short_warm_up():
    length = epochs(recipe(COCO), images=100, batch=2)
    assert (length.number, length.iterations, length.interval) == (20, 1000, 1)
    warm_up, steps = length.schedulers
    assert warm_up["end"] == 100
    assert (steps["end"], steps["milestones"]) == (20, [13, 18])
    assert epochs(recipe(COCO), images=1, batch=1).number == 1000


def test_iterations_follow_the_number_of_images():
    length = iterations(recipe(ADE), images=2021, batch=8)
    assert length.number == 32_000
    warm_up, poly = length.schedulers
    assert warm_up["end"] == poly["begin"] == 300
    assert poly["end"] == 32_000
    assert iterations(recipe(ADE), images=3, batch=2).number == 1000


@pytest.mark.parametrize(
    ("size", "scale"),
    [((640, 480), (1333, 800)), ((480, 640), (1333, 800)), ((4000, 3000), (1333, 800)), ((128, 128), (448, 256))],
)
def test_scales_by_the_size_of_images(size, scale):
    assert detection_scale([size] * 3 + [(5, 5)], (1333, 800)) == scale


def test_panoramas_are_not_made_smaller():
    long, short = detection_scale([(1300, 100)], (1333, 800))
    assert (long, short) == (1312, 192)


def test_crops_are_no_larger_than_the_recipe_s():
    assert [crop_side([size], 512) for size in ((64, 48), (400, 300), (2048, 1024))] == [64, 320, 512]
