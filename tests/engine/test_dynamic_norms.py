"""DynamicNormHook in a real training loop: what it logs, when, and of what it warns."""

import copy

import pytest
import torch
from mmengine.model import BaseModel
from mmengine.registry import MODELS
from mmengine.runner import Runner

import csan_mm  # noqa: F401
from csan_mm.engine import DynamicNormHook

ARCH = {"embed_dims": 16, "depth": 2}
LAYERS = ["blocks.1.dwc", "blocks.1.linear1"]


class Model(BaseModel):
    def __init__(self, **options) -> None:
        super().__init__()
        cfg = {"type": "csan_mm.WeightFormer", "arch": ARCH, "dynamic": [1], "patch_size": 8, **options}
        self.backbone = MODELS.build(copy.deepcopy(cfg))

    def forward(self, image: torch.Tensor, mode: str) -> dict[str, torch.Tensor]:
        return {"loss": self.backbone(image)[0].square().mean()}


def train(model: Model, hook: dict, tmp_path, iterations: int = 4) -> Runner:
    runner = Runner(
        model,
        work_dir=str(tmp_path),
        train_dataloader={
            "batch_size": 2,
            "dataset": [torch.randn(3, 24, 32) for _ in range(2 * iterations)],
            "sampler": {"type": "DefaultSampler", "shuffle": False},
            "collate_fn": lambda images: {"image": torch.stack(images)},
        },
        train_cfg={"by_epoch": False, "max_iters": iterations},
        optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.01}},
        custom_hooks=[{"type": "csan_mm.DynamicNormHook", **hook}],
        default_hooks={"checkpoint": None},
        log_level="WARNING",
        experiment_name=f"norms-{id(model)}",
    )
    runner.train()
    return runner


def warnings(capsys: pytest.CaptureFixture) -> list[str]:
    """What mmengine's logger has printed about norms; it does not propagate to pytest's."""
    return [line for line in capsys.readouterr().out.splitlines() if "WARNING" in line and "||dW||" in line]


@pytest.mark.parametrize("with_cp", [False, True], ids=["plain", "checkpointing"])
def test_logs_the_ratio_of_each_layer(tmp_path, with_cp):
    model = Model(with_cp=with_cp)
    runner = train(model, {"interval": 2}, tmp_path)
    scalars = runner.message_hub.log_scalars
    assert sorted(name for name in scalars if "dynamic_norm" in name) == [
        f"train/dynamic_norm/{name}" for name in LAYERS
    ]
    assert len(scalars["train/dynamic_norm/blocks.1.dwc"].data[0]) == 2
    assert not any(module._forward_hooks for module in model.modules())


def test_the_ratio_is_that_of_the_tokens_the_layer_saw(tmp_path):
    model = Model()
    layer, seen = model.backbone.blocks[1].linear1, []
    layer.register_forward_hook(lambda layer, args, _: seen.append(layer.norm_ratio(*args)))
    runner = train(model, {"interval": 1}, tmp_path)
    logged = runner.message_hub.log_scalars["train/dynamic_norm/blocks.1.linear1"].data[0]
    assert logged.tolist() == pytest.approx(seen)


@pytest.mark.parametrize("value", [1e3, float("nan")], ids=["large", "nan"])
def test_warns_once_of_each_layer(tmp_path, capsys, value):
    model = Model()
    torch.nn.init.constant_(model.backbone.blocks[1].dwc.wfm[2].weight, value)
    train(model, {"interval": 1, "warn_above": 5.0}, tmp_path)
    about = warnings(capsys)
    assert sum("in backbone.blocks.1.dwc " in line for line in about) == 1
    assert "iteration 1: ||dW|| is " in about[0]
    assert "layer_scale" in about[0]


def test_silent_below_the_bound(tmp_path, capsys):
    train(Model(), {"interval": 1}, tmp_path)
    assert warnings(capsys) == []


def test_a_model_without_dynamic_layers_is_named(tmp_path):
    with pytest.raises(ValueError, match="Model has no dynamic layers"):
        train(Model(dynamic=()), {}, tmp_path)


def test_wrong_interval_is_named():
    with pytest.raises(ValueError, match="interval=0"):
        DynamicNormHook(interval=0)
