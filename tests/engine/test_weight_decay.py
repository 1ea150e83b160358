"""The rules of OptimWrapperConstructor, one by one, on a model that has every kind of parameter."""

import pytest
import torch
from mmengine.optim import build_optim_wrapper
from torch import nn

import csan_mm  # noqa: F401

DECAY = 0.5


class Backbone(nn.Module):
    """Names one parameter that must not decay; its norms have no 'norm' in their names."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 3, groups=4), nn.GroupNorm(2, 4)
        )
        self.table = nn.Parameter(torch.zeros(3, 3))
        self.scale = nn.Parameter(torch.ones(4))
        self.attention = nn.MultiheadAttention(4, 2)
        self.rms = nn.RMSNorm(4)

    def no_weight_decay(self) -> set[str]:
        return {"table"}


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(4, 2)


def decays(**paramwise: object) -> dict[str, float]:
    """Weight decay of every parameter, as a share of the optimizer's."""
    model = Model()
    cfg = {
        "type": "OptimWrapper",
        "constructor": "csan_mm.OptimWrapperConstructor",
        "paramwise_cfg": paramwise or None,
        "optimizer": {"type": "AdamW", "lr": 1.0, "weight_decay": DECAY},
    }
    names = {parameter: name for name, parameter in model.named_parameters()}
    groups = build_optim_wrapper(model, cfg).optimizer.param_groups
    found = {names[parameter]: group["weight_decay"] / DECAY for group in groups for parameter in group["params"]}
    assert set(found) == set(names.values())
    return found


NORMS = {f"backbone.{name}" for name in ("stem.1.weight", "stem.1.bias", "stem.3.weight", "stem.3.bias", "rms.weight")}
BIASES = {
    "head.bias",
    *(
        f"backbone.{name}"
        for name in ("stem.0.bias", "stem.2.bias", "attention.in_proj_bias", "attention.out_proj.bias")
    ),
}


@pytest.mark.parametrize(
    ("options", "spared"),
    [
        ({}, set()),
        ({"norm_decay_mult": 0.0}, NORMS),
        ({"bias_decay_mult": 0.0}, BIASES | {"backbone.stem.1.bias", "backbone.stem.3.bias"}),
        ({"norm_decay_mult": 0.0, "bias_decay_mult": 0.0}, NORMS | BIASES),
        ({"flat_decay_mult": 0.0}, NORMS | BIASES | {"backbone.scale"}),
        ({"dwconv_decay_mult": 0.0}, {"backbone.stem.2.weight", "backbone.stem.2.bias"}),
        ({"dwconv_decay_mult": 0.0, "bias_decay_mult": 1.0}, {"backbone.stem.2.weight"}),
    ],
    ids=lambda value: "+".join(value) or "nothing" if isinstance(value, dict) else "",
)
def test_each_rule(options, spared):
    found = decays(**options)
    assert {name for name, share in found.items() if share == 0} == spared | {"backbone.table"}
    assert set(found.values()) <= {0.0, 1.0}


def test_a_custom_key_for_the_rate_leaves_the_decay_alone():
    found = decays(norm_decay_mult=0.0, bias_decay_mult=0.0, custom_keys={"backbone": {"lr_mult": 0.1}})
    assert {name for name, share in found.items() if share == 0} == NORMS | BIASES | {"backbone.table"}


def test_a_custom_key_with_a_decay_comes_first():
    found = decays(norm_decay_mult=0.0, custom_keys={"table": {"decay_mult": 0.5}, "stem.1": {"decay_mult": 2.0}})
    assert found["backbone.table"] == 0.5
    assert found["backbone.stem.1.weight"] == 2.0
    assert found["backbone.stem.3.weight"] == 0.0


def test_unknown_keys_are_named():
    with pytest.raises(ValueError, match=r"unknown keys norm_decay: take .*norm_decay_mult"):
        decays(norm_decay=0.0)
