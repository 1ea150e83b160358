"""Batch, learning rate and length of a training, from a recipe for eight GPUs and a large data set. The rules are ours."""

import copy
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from mmengine.config import Config

from csan_mm.common.checks import check_int

#: Iterations below which a training of few images is made longer than the recipe's number of epochs.
LEAST_ITERATIONS = 1000

#: A warm-up takes this share of a training at most.
_WARM_UP = 0.1

#: Evaluations in a training by iterations.
_EVALUATIONS = 10

#: Images that ADE20K's recipes train on.
_ADE_IMAGES = 20210


@dataclass(frozen=True)
class Batch:
    """What one step of the optimizer sees, and the rate for it.

    Args:
        processes: One for each GPU; one on a CPU.
        images: A process.
        workers: Loading images, a process.
        rate: The recipe's learning rate, scaled linearly to the batch.
        recipe_rate: As the recipe has it.
        recipe_batch: What the recipe's rate is for.
    """

    processes: int
    images: int
    workers: int
    rate: float
    recipe_rate: float
    recipe_batch: int

    @property
    def total(self) -> int:
        """Images in one step."""
        return self.processes * self.images


def fit_batch(recipe: Config, gpus: int | None, images: int) -> Batch:
    """Batch and rate for the machine.

    Args:
        recipe: The shipped config.
        gpus: How many; 0: a CPU; ``None``: as many as torch sees.
        images: How many there are to train on.
    """
    gpus = torch.cuda.device_count() if gpus is None else check_int("gpus", gpus, 0)
    processes = max(1, gpus)
    per_process = max(1, min(recipe.train_dataloader.batch_size, images // processes))
    workers = min(recipe.train_dataloader.num_workers, max(0, (os.cpu_count() or 1) // processes - 1))
    base, rate = recipe.auto_scale_lr.base_batch_size, recipe.optim_wrapper.optimizer.lr
    scaled = float(f"{rate * processes * per_process / base:.3g}")
    return Batch(processes, per_process, workers, scaled, rate, base)


@dataclass(frozen=True)
class Length:
    """How long a training is.

    Args:
        number: Of epochs or iterations.
        interval: Of evaluations and checkpoints, in the same unit.
        recipe: The recipe's number.
        iterations: In all.
        schedulers: The recipe's, brought to this length; None where they hold as they are.
    """

    number: int
    interval: int
    recipe: int
    iterations: int
    schedulers: list[dict[str, Any]] | None


def epochs(recipe: Config, images: int, batch: int) -> Length:
    """The recipe's epochs, or as many as make LEAST_ITERATIONS; a warm-up of at most a tenth."""
    old, per_epoch = recipe.train_cfg.max_epochs, -(-images // batch)
    new = max(old, -(-LEAST_ITERATIONS // per_epoch))
    warm_up = max(1, int(_WARM_UP * new * per_epoch))
    schedulers = [_stretched(one, new / old, warm_up) for one in _plain(recipe.param_scheduler)]
    unchanged = schedulers == _plain(recipe.param_scheduler)
    return Length(new, max(1, new // old), old, new * per_epoch, None if unchanged else schedulers)


def iterations(recipe: Config, images: int, batch: int) -> Length:
    """As many passes over the images as the recipe makes over ADE20K, at least LEAST_ITERATIONS and at most its own number."""
    old = recipe.train_cfg.max_iters
    passes = old * recipe.auto_scale_lr.base_batch_size / _ADE_IMAGES
    new = min(old, max(LEAST_ITERATIONS, round(passes * images / batch)))
    schedulers = [_stretched(one, new / old, None) for one in _plain(recipe.param_scheduler)]
    return Length(new, max(1, new // _EVALUATIONS), old, new, schedulers if new != old else None)


def _stretched(scheduler: dict[str, Any], factor: float, warm_up: int | None) -> dict[str, Any]:
    """A scheduler for a training ``factor`` times as long; one by iterations among epochs is a warm-up, which is cut short."""
    scheduler = copy.deepcopy(scheduler)
    if warm_up is not None and not scheduler.get("by_epoch", True):
        return {**scheduler, "end": min(scheduler["end"], warm_up)}
    for key in ("begin", "end", "T_max", "milestones"):
        if key in scheduler:
            scheduler[key] = _times(scheduler[key], factor)
    return scheduler


def _times(value: int | Sequence[int], factor: float) -> Any:
    return [round(entry * factor) for entry in value] if isinstance(value, list) else round(value * factor)


def _plain(schedulers: Sequence[dict]) -> list[dict[str, Any]]:
    return [dict(scheduler) for scheduler in schedulers]
