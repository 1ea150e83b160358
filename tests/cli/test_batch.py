"""The line about the effective batch, against arithmetic done by hand."""

import pytest
from mmengine.config import Config

from csan_mm.cli.batch import describe_batch, scale_learning_rate
from csan_mm.common.errors import UserError


def config(
    batch: int = 2, lr: float | None = 1e-4, base: int | None = 16, accumulate: int = 1, enable: bool = False
) -> Config:
    optimizer = {"type": "AdamW"} | ({} if lr is None else {"lr": lr})
    return Config(
        {
            "train_dataloader": {"batch_size": batch},
            "optim_wrapper": {"optimizer": optimizer, "accumulative_counts": accumulate},
            "auto_scale_lr": None if base is None else {"base_batch_size": base, "enable": enable},
        }
    )


@pytest.mark.parametrize(
    ("settings", "processes", "batch", "rate"),
    [
        ({}, 8, "16 = 8 processes x 2 images", "learning rate 0.0001, for a batch of 16 as here"),
        ({}, 1, "2 = 1 process x 2 images", "is NOT scaled: --auto-scale-lr would make it 1.25e-05"),
        (
            {"enable": True, "batch": 1},
            4,
            "4 = 4 processes x 1 image",
            "for a batch of 16, scaled to 2.5e-05 for one of 4",
        ),
        (
            {"accumulate": 4, "base": None},
            2,
            "16 = 2 processes x 2 images x 4 accumulated steps",
            "does not say for which",
        ),
        (
            {"accumulate": 4, "base": 8},
            1,
            "8 = 1 process x 2 images x 4 accumulated steps",
            "learning rate 0.0001, for a batch of 8 as here",
        ),
        ({"accumulate": 2}, 1, "4 = 1 process x 2 images x 2 accumulated steps", "would make it 2.5e-05"),
        (
            {"accumulate": 2, "enable": True},
            2,
            "8 = 2 processes x 2 images x 2 accumulated steps",
            "scaled to 5e-05 for one of 8",
        ),
        ({"lr": None}, 1, "2 = 1 process x 2 images", "the optimizer's learning rate is its own default"),
    ],
    ids=[
        *("as written", "not scaled", "scaled", "accumulated"),
        *("accumulated as written", "accumulated, not scaled", "accumulated and scaled", "no rate"),
    ],
)
def test_describe_batch(settings, processes, batch, rate):
    got_batch, got_rate = describe_batch(config(**settings), processes).split("; ", 1)
    assert got_batch == f"effective batch {batch}"
    assert rate in got_rate


def test_batch_size_may_stand_in_the_batch_sampler():
    cfg = config()
    cfg.train_dataloader = {"batch_sampler": {"batch_size": 3}}
    assert describe_batch(cfg, 2).startswith("effective batch 6 = 2 processes x 3 images;")


def test_scaling_needs_a_base():
    cfg = config()
    scale_learning_rate(cfg)
    assert cfg.auto_scale_lr.enable is True
    with pytest.raises(UserError, match=r"--auto-scale-lr needs auto_scale_lr = dict\(base_batch_size"):
        scale_learning_rate(config(base=None))
