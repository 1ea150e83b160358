"""A resumed training has the rates that are asked for now: those of a training that had them from its beginning."""

import logging
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch import nn

import csan_mm  # noqa: F401
from csan_mm.cli.batch import describe_position, scale_by_effective_batch
from csan_mm.common.errors import CheckpointError
from csan_mm.engine.resume_rates import ResumeRatesHook


class Model(BaseModel):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 1)

    def forward(self, x: torch.Tensor, mode: str) -> dict[str, torch.Tensor]:
        return {"loss": self.linear(x).square().mean()}


class Rates(Hook):
    """The rates of each iteration, as the optimizer has them."""

    priority = "VERY_HIGH"

    def __init__(self) -> None:
        self.seen: list[tuple[float, ...]] = []

    def before_train_iter(self, runner: Runner, *args: object, **kwargs: object) -> None:
        self.seen.append(tuple(group["lr"] for group in runner.optim_wrapper.optimizer.param_groups))


WARMUP = {"type": "LinearLR", "start_factor": 0.1, "begin": 0, "end": 3, "by_epoch": False}
COSINE = {"type": "CosineAnnealingLR", "T_max": 4, "eta_min": 1e-4, "by_epoch": True, "convert_to_iter_based": True}
STEPS = {"type": "MultiStepLR", "milestones": [1, 3], "gamma": 0.1, "by_epoch": True}
OURS = {"type": "csan_mm.WarmupCosineLR", "warmup": 1, "T_max": 4, "start_factor": 0.1, "convert_to_iter_based": True}


def train(
    folder: Path,
    schedule: list[dict],
    lr: float = 0.02,
    epochs: int = 4,
    batch: int = 2,
    resume: Path | None = None,
    by_epoch: bool = True,
    optimizer: str = "SGD",
    scaling: dict | None = None,
    bias_mult: float = 0.5,
    **wrapper: object,
) -> tuple[list[tuple[float, ...]], Runner]:
    """Train on twelve samples; the rates of all iterations, and the Runner."""
    rates = Rates()
    length = 12 // batch
    loop = {"by_epoch": True, "max_epochs": epochs} if by_epoch else {"by_epoch": False, "max_iters": epochs * length}
    runner = Runner(
        Model(),
        work_dir=str(folder),
        train_dataloader={
            "batch_size": batch,
            "dataset": list(torch.randn(12, 3)),
            "sampler": {"type": "DefaultSampler", "shuffle": False},
            "collate_fn": lambda samples: {"x": torch.stack(samples)},
        },
        train_cfg=loop,
        optim_wrapper={
            "optimizer": {"type": optimizer, "lr": lr},
            "paramwise_cfg": {"bias_lr_mult": bias_mult},
            **wrapper,
        },
        param_scheduler=deepcopy(schedule),
        default_hooks={
            "checkpoint": {"type": "CheckpointHook", "interval": 1 if by_epoch else length, "by_epoch": by_epoch}
        },
        resume=resume is not None,
        load_from=str(resume) if resume else None,
        auto_scale_lr=scaling,
        log_level="ERROR",
        experiment_name=f"rates-{id(rates)}",
        cfg={
            "train_dataloader": {"batch_size": batch},
            "optim_wrapper": {"optimizer": {"lr": lr}, **wrapper},
            "auto_scale_lr": scaling,
        },
    )
    runner.register_hook(rates)
    scale_by_effective_batch(runner)
    if resume:
        runner.register_hook(ResumeRatesHook(), priority="VERY_LOW")
    runner.train()
    return rates.seen, runner


def assert_same(resumed: list, whole: list) -> None:
    assert len(resumed) < len(whole)
    for got, want in zip(resumed, whole[-len(resumed) :]):
        assert got == pytest.approx(want, rel=1e-9)


def in_iterations(schedule: list[dict]) -> list[dict]:
    """The same numbers, as iterations."""
    return [
        {name: value for name, value in one.items() if name != "convert_to_iter_based"} | {"by_epoch": False}
        for one in schedule
    ]


CASES = {
    "nothing new": ([WARMUP, STEPS], {}),
    "another rate": ([], {"lr": 0.01}),
    "another rate, multistep": ([WARMUP, STEPS], {"lr": 0.01}),
    "another rate, cosine, whose floor does not scale": ([WARMUP, COSINE], {"lr": 0.05}),
    "another rate, our cosine": ([OURS], {"lr": 0.05}),
    "another rate of one group": ([WARMUP, STEPS], {"bias_mult": 2.0}),
    "other milestones": ([WARMUP, STEPS], {"schedule": [WARMUP, {**STEPS, "milestones": [3]}]}),
    "one schedule less": ([WARMUP, STEPS], {"schedule": [STEPS]}),
    "longer": ([COSINE], {"schedule": [{**COSINE, "T_max": 6}], "epochs": 6}),
}


@pytest.mark.parametrize("by_epoch", [True, False], ids=["epochs", "iterations"])
@pytest.mark.parametrize("case", CASES)
def test_what_is_asked_on_resuming_holds(tmp_path, case, by_epoch):
    schedule, asked = CASES[case]
    settings = {"schedule": schedule, "by_epoch": by_epoch, **asked}
    if not by_epoch:
        schedule, settings["schedule"] = in_iterations(schedule), in_iterations(settings["schedule"])
    train(tmp_path / "first", schedule, epochs=2, by_epoch=by_epoch)
    checkpoint = tmp_path / "first" / ("epoch_2.pth" if by_epoch else "iter_12.pth")
    whole, _ = train(tmp_path / "whole", **settings)
    resumed, _ = train(tmp_path / "second", **settings, resume=checkpoint)
    assert_same(resumed, whole)


@pytest.mark.parametrize(
    ("schedule", "asked"),
    [
        ([WARMUP, COSINE], {"batch": 4}),
        ([OURS], {"batch": 1}),
        ([WARMUP, COSINE], {"batch": 4, "scaling": {"enable": True, "base_batch_size": 2}}),
    ],
    ids=["larger batch", "smaller batch", "scaled"],
)
def test_with_other_iterations_per_epoch_a_schedule_ends_with_the_training(tmp_path, schedule, asked):
    train(tmp_path / "first", schedule, epochs=2)
    whole, _ = train(tmp_path / "whole", schedule, **asked)
    resumed, runner = train(tmp_path / "second", schedule, **asked, resume=tmp_path / "first" / "epoch_2.pth")
    assert_same(resumed, whole)
    assert runner.iter == runner.max_iters == len(whole)


def test_a_second_resumption_with_nothing_new_changes_nothing(tmp_path, caplog):
    train(tmp_path / "first", [WARMUP, COSINE], epochs=2)
    train(tmp_path / "second", [WARMUP, COSINE], lr=0.01, epochs=3, resume=tmp_path / "first" / "epoch_2.pth")
    before = torch.load(tmp_path / "second" / "epoch_3.pth", weights_only=False)["param_schedulers"]
    resumed, _ = train(tmp_path / "third", [WARMUP, COSINE], lr=0.01, resume=tmp_path / "second" / "epoch_3.pth")
    whole, _ = train(tmp_path / "whole", [WARMUP, COSINE], lr=0.01)
    assert_same(resumed, whole)
    assert before[1]["base_values"] == [0.01, 0.005, 0.01]


def test_the_momentum_of_the_optimizer_is_kept(tmp_path):
    train(tmp_path / "first", [], epochs=2, optimizer="AdamW")
    saved = torch.load(tmp_path / "first" / "epoch_2.pth", weights_only=False)["optimizer"]["state"]
    _, runner = train(
        tmp_path / "second", [], lr=1e-12, epochs=3, resume=tmp_path / "first" / "epoch_2.pth", optimizer="AdamW"
    )
    steps = [state["step"] for state in runner.optim_wrapper.optimizer.state.values()]
    assert [float(step) for step in steps] == [float(state["step"]) + 6 for state in saved.values()]


def test_what_cannot_hold_is_refused_with_the_cure(tmp_path):
    train(tmp_path / "first", [STEPS], epochs=1)
    checkpoint = tmp_path / "first" / "epoch_1.pth"
    with pytest.raises(CheckpointError, match=r"only one of both optimizers has '(betas|momentum)'.*load_from="):
        train(tmp_path / "second", [STEPS], optimizer="AdamW", resume=checkpoint)
    with pytest.raises(CheckpointError, match=r"groups of parameters .*load_from="):
        train(tmp_path / "third", [STEPS], resume=checkpoint, paramwise_cfg={})


def test_says_what_differs_and_which_rate_is_in_use(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr("csan_mm.engine.resume_rates.print_log", lambda text, logger, level: said.append((level, text)))
    train(tmp_path / "first", [STEPS], epochs=2)
    checkpoint = tmp_path / "first" / "epoch_2.pth"
    train(tmp_path / "second", [STEPS], epochs=2, resume=checkpoint)
    assert not said
    scaling = {"enable": True, "base_batch_size": 4}
    _, runner = train(tmp_path / "third", [STEPS], epochs=3, resume=checkpoint, scaling=scaling, bias_mult=1.0)
    ((level, text),) = said
    assert level == logging.WARNING
    assert "lr 0.02 is now 0.01" in text
    assert describe_position(runner) == "resumed behind epoch 3, iteration 18: learning rate 0.001 is in use"


@pytest.mark.parametrize(("accumulated", "rate"), [(1, 0.005), (4, 0.02), (8, 0.04)])
def test_accumulated_steps_count_in_the_scaled_rate(tmp_path, accumulated, rate):
    """2 images in 4 accumulated steps are the base batch of 8: mmengine would train at a quarter of the rate."""
    scaling = {"enable": True, "base_batch_size": 8}
    seen, runner = train(tmp_path, [], epochs=1, scaling=scaling, accumulative_counts=accumulated, bias_mult=0.5)
    assert seen[0] == pytest.approx((rate, rate / 2))
    assert runner.optim_wrapper.get_lr()["base_lr"] == pytest.approx([rate])  # what mmengine logs
