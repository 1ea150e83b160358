"""Layer-wise decay over a bare backbone, a detector, a segmentor and a classifier: rates and decays by hand."""

import copy
import importlib

import pytest
import torch
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import MODELS, DefaultScope
from torch import nn

import csan_mm  # noqa: F401
from csan_mm.engine import LayerDecayOptimWrapperConstructor

RATE, LR, DECAY = 0.5, 0.1, 0.05
DEPTH = 3
VIT = {"type": "csan_mm.ViTCSaN", "arch": {"embed_dims": 16, "depth": DEPTH, "num_heads": 2}, "img_size": 32}
CLASSIFIER = {
    "type": "mmpretrain.ImageClassifier",
    "backbone": {**VIT, "out_type": "cls_token"},
    "head": {"type": "mmpretrain.VisionTransformerClsHead", "num_classes": 3, "in_channels": 16},
}


class Wrapped(nn.Module):
    """A detector's and a segmentor's shape: a backbone and something behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = MODELS.build(copy.deepcopy(VIT))
        self.neck = nn.Linear(16, 4)


def groups(model: nn.Module, **paramwise: object) -> dict[str, dict]:
    cfg = {
        "type": "OptimWrapper",
        "constructor": "csan_mm.LayerDecayOptimWrapperConstructor",
        "paramwise_cfg": {"layer_decay_rate": RATE, **paramwise},
        "optimizer": {"type": "AdamW", "lr": LR, "weight_decay": DECAY},
    }
    optimizer = build_optim_wrapper(model, cfg).optimizer
    names = {parameter: name for name, parameter in model.named_parameters()}
    return {names[group["params"][0]]: group for group in optimizer.param_groups}


def expected_rate(name: str) -> float:
    """By hand: the stem is DEPTH + 1 steps from the output, block i DEPTH - i, the final norm and all else 0."""
    if name.startswith("blocks."):
        return LR * RATE ** (DEPTH - int(name.split(".")[1]))
    return LR * (1 if name.startswith("norm") else RATE ** (DEPTH + 1))


def test_bare_backbone():
    model = MODELS.build(copy.deepcopy(VIT))
    found = groups(model)
    assert set(found) == {name for name, _ in model.named_parameters()}
    for name, group in found.items():
        assert group["lr"] == pytest.approx(expected_rate(name)), name


@pytest.mark.parametrize(
    "make", [Wrapped, lambda: MODELS.build(copy.deepcopy(CLASSIFIER))], ids=["wrapped", "classifier"]
)
def test_inside_a_model_the_rest_has_the_full_rate(make):
    for name, group in groups(make()).items():
        own = name.removeprefix("backbone.")
        assert group["lr"] == pytest.approx(LR if own == name else expected_rate(own)), name


@pytest.mark.parametrize(
    ("family", "base", "widths"),
    [
        ("mmdet", "retinanet", {"neck": {"in_channels": [16] * 3}}),
        ("mmseg", "upernet", {"decode_head": {"in_channels": [16] * 4}, "auxiliary_head": {"in_channels": 16}}),
    ],
    ids=["mmdet", "mmseg"],
)
def test_a_real_detector_and_segmentor(repo_root, family, base, widths):
    cfg = Config.fromfile(repo_root / f"configs/_base_/models/{base}.py")
    cfg.merge_from_dict({"model": {"backbone": {**VIT, "out_indices": (0, 1, 2)}, **widths}})
    with DefaultScope.overwrite_default_scope(family):
        importlib.import_module(f"{family}.models")
        model = MODELS.build(cfg.model)
    found = groups(model, norm_decay_mult=0.0)
    assert {group["lr"] for name, group in found.items() if not name.startswith("backbone.")} == {LR}
    assert found["backbone.patch_embed.proj.weight"]["lr"] == pytest.approx(LR * RATE ** (DEPTH + 1))
    assert found["backbone.blocks.2.norm1.weight"]["weight_decay"] == 0


def test_decay_rules():
    found = groups(
        Wrapped(),
        norm_decay_mult=0.0,
        bias_decay_mult=0.5,
        custom_keys={"blocks.1.mlp.fc1.weight": {"lr_mult": 3.0, "decay_mult": 2.0}},
    )
    assert found["backbone.blocks.0.norm1.bias"]["weight_decay"] == 0
    assert found["backbone.blocks.0.mlp.fc1.bias"]["weight_decay"] == DECAY / 2
    assert found["backbone.blocks.0.mlp.fc1.weight"]["weight_decay"] == DECAY
    assert found["backbone.pos_embed"]["weight_decay"] == 0  # the backbone says so
    custom = found["backbone.blocks.1.mlp.fc1.weight"]
    assert custom["lr"] == pytest.approx(3 * LR * RATE**2)
    assert custom["weight_decay"] == 2 * DECAY


def test_a_custom_key_overrules_the_backbone():
    found = groups(Wrapped(), custom_keys={"pos_embed": {"decay_mult": 1.0}, "cls_token": {"lr_mult": 1.0}})
    assert found["backbone.pos_embed"]["weight_decay"] == DECAY
    assert found["backbone.cls_token"]["weight_decay"] == 0


def test_a_custom_key_that_changes_nothing_is_said(monkeypatch):
    said: list[str] = []
    monkeypatch.setattr("csan_mm.engine.weight_decay.print_log", lambda text, **_: said.append(text))
    groups(Wrapped(), custom_keys={"nek": {"lr_mult": 3.0}, "neck": {"lr_mult": 3.0}})
    assert [text for text in said if "custom_keys" in text] == ["custom_keys['nek'] is in no parameter's name"]


def test_frozen_parameters_are_left_out():
    model = MODELS.build({**copy.deepcopy(VIT), "frozen_stages": 1})
    assert not any(name.startswith(("blocks.0.", "patch_embed.")) for name in groups(model))


def test_the_optimizer_steps():
    model = MODELS.build(copy.deepcopy(VIT))
    cfg = {"optimizer": {"type": "SGD", "lr": LR}}
    wrapper = LayerDecayOptimWrapperConstructor(cfg, {"decay_rate": RATE})(model)
    before = model.patch_embed.proj.bias.detach().clone()
    (output,) = model(torch.randn(1, 3, 32, 32))
    loss = output.square().sum()
    (gradient,) = torch.autograd.grad(loss, [model.patch_embed.proj.bias], retain_graph=True)
    wrapper.update_params(loss)
    step = LR * RATE ** (DEPTH + 1) * gradient
    torch.testing.assert_close(model.patch_embed.proj.bias.detach(), before - step)


def test_a_backbone_without_depths_is_named():
    model = Wrapped()
    model.backbone = nn.Linear(2, 2)
    with pytest.raises(ValueError, match=r"Linear has no get_layer_depth"):
        groups(model)


@pytest.mark.parametrize(
    ("paramwise", "named"),
    [
        ({}, "layer_decay_rate"),
        ({"layer_decay_rate": 0.7, "decay_rate": 0.7}, "must have layer_decay_rate"),
        ({"layer_decay_rate": 1.5}, "layer_decay_rate=1.5"),
        ({"layer_decay_rate": 0.7, "num_layers": 12}, "num_layers"),
        ({"layer_decay_rate": 0.7, "custom_keys": {"neck": {"lrmult": 3.0}}}, r"custom_keys\['neck'\] has lrmult"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(paramwise, named):
    cfg = {"optimizer": {"type": "SGD", "lr": LR}}
    with pytest.raises(ValueError, match=named):
        LayerDecayOptimWrapperConstructor(cfg, paramwise)


def test_an_optimizer_without_lr_is_named():
    with pytest.raises(ValueError, match=r"set optimizer\.lr"):
        LayerDecayOptimWrapperConstructor({"optimizer": {"type": "AdamW"}}, {"layer_decay_rate": 0.7})
