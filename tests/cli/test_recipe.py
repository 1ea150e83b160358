"""SGD under one of our backbones is said before training; the shipped recipes are not complained of."""

import pytest
from mmengine.config import Config

from csan_mm.backbones import SwinCSaN
from csan_mm.cli.recipe import describe_foreign_recipe
from csan_mm.common.package_configs import configs_folder, shipped_configs


def config(detector="MaskRCNN", backbone="csan_mm.SwinCSaN", optimizer="SGD", lr=0.02) -> Config:
    return Config(
        {
            "model": {"type": detector, "backbone": {"type": backbone}},
            "optim_wrapper": {"optimizer": {"type": optimizer, "lr": lr}},
        }
    )


@pytest.mark.parametrize("backbone", ["csan_mm.SwinCSaN", "csan_mm.MAViT", SwinCSaN])
def test_sgd_is_said_with_the_schedule_that_would_do(backbone):
    text = describe_foreign_recipe(config(backbone=backbone))
    assert "lr=0.02" in text
    assert "csan_mm::_base_/schedules/adamw_1x.py" in text


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "AdamW"},
        {"backbone": "ResNet"},
        {"backbone": "mmdet.SwinTransformer"},
        {"detector": "RetinaNet", "lr": 0.01},
    ],
    ids=str,
)
def test_others_are_left_alone(settings):
    assert describe_foreign_recipe(config(**settings)) is None


def test_a_backbone_inside_a_wrapped_model_counts():
    wrapped = config()
    wrapped.model = {"type": "DataWrapper", "detectors": [{"type": "MaskRCNN", "backbone": {"type": "csan_mm.CBT"}}]}
    assert describe_foreign_recipe(wrapped).startswith("CBT is trained with SGD")


def test_no_shipped_config_is_complained_of():
    for path in shipped_configs():
        cfg = Config.fromfile(configs_folder() / path)
        if "model" in cfg:
            assert describe_foreign_recipe(cfg) is None, path
