"""NonFiniteHook in a real training loop: the module and the cause it names, and that it leaves nothing behind."""

import pytest
import torch
from mmengine.model import BaseModel
from mmengine.registry import MODELS
from mmengine.runner import Runner
from torch import nn

import csan_mm  # noqa: F401
from csan_mm.engine import NonFiniteHook

MEAN = {"type": "csan_mm.SwinCSaN", "arch": {"embed_dims": 8, "depths": (1, 1, 1, 1), "num_heads": (1, 1, 2, 2)}}


class Log(nn.Module):
    def forward(self, x: torch.Tensor) -> list[dict[str, torch.Tensor]]:
        return [{"log": x.log()}]


class Model(BaseModel):
    def __init__(self, log: bool = False) -> None:
        super().__init__()
        self.backbone = MODELS.build(MEAN)
        self.log = Log() if log else None

    def forward(self, image: torch.Tensor, mode: str) -> dict[str, torch.Tensor]:
        x = self.backbone(image)[0]
        x = x if self.log is None else self.log(x * 0)[0]["log"]
        return {"loss": x.square().mean()}


def train(model: Model, tmp_path, images: list[torch.Tensor] | None = None, lr: float = 0.01, **hook) -> Runner:
    images = images or [torch.randn(3, 24, 32) for _ in range(6)]
    runner = Runner(
        model,
        work_dir=str(tmp_path),
        train_dataloader={
            "batch_size": 2,
            "dataset": images,
            "sampler": {"type": "DefaultSampler", "shuffle": False},
            "collate_fn": lambda batch: {"image": torch.stack(batch)},
        },
        train_cfg={"by_epoch": False, "max_iters": len(images) // 2},
        optim_wrapper={"optimizer": {"type": "SGD", "lr": lr}},
        custom_hooks=[{"type": "csan_mm.NonFiniteHook", **hook}],
        default_hooks={"checkpoint": None},
        log_level="WARNING",
        experiment_name=f"non-finite-{id(model)}",
    )
    runner.train()
    return runner


def test_a_sound_training_is_left_alone(tmp_path):
    model = Model()
    train(model, tmp_path)
    assert not any(module._forward_hooks for module in model.modules())


def test_a_module_that_makes_it(tmp_path):
    with pytest.raises(FloatingPointError, match=r"iteration 1: .* is that of log \(Log\); what went in .* overflows"):
        train(Model(log=True), tmp_path)


def test_an_image_that_has_it(tmp_path):
    images = [torch.randn(3, 24, 32) for _ in range(6)]
    images[3][1, 2, 3] = float("nan")
    with pytest.raises(
        FloatingPointError,
        match=r"iteration 2: .*that of data_preprocessor \(BaseDataPreprocessor\); what went in is not",
    ):
        train(Model(), tmp_path, images)


def test_a_step_that_went_too_far(tmp_path):
    with pytest.raises(FloatingPointError, match=r"iteration 2: .*backbone\..*its parameter \w+ is not finite"):
        train(Model(), tmp_path, lr=float("inf"))


def test_between_two_looks_nothing_is_seen(tmp_path):
    images = [torch.randn(3, 24, 32) for _ in range(4)]
    images[0][:] = float("nan")
    with pytest.raises(FloatingPointError, match=r"iteration 2:"):
        train(Model(), tmp_path, images, interval=2)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="interval=0"):
        NonFiniteHook(interval=0)
