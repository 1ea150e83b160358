"""The effective batch of a training and the learning rate that belongs to it."""

from functools import partial

from mmengine.config import Config
from mmengine.dist import get_world_size
from mmengine.optim import OptimWrapper, OptimWrapperDict
from mmengine.runner import Runner

from csan_mm.common.errors import UserError


def scale_learning_rate(cfg: Config) -> None:
    """Ask for a learning rate that is scaled linearly from the batch the config was written for to the actual one.

    Raises:
        UserError: The config does not say for which batch it was written.
    """
    if not (cfg.get("auto_scale_lr") or {}).get("base_batch_size"):
        raise UserError(
            f"--auto-scale-lr needs auto_scale_lr = dict(base_batch_size=...) in {cfg.filename}: the batch its learning rate "
            f"is for"
        )
    cfg.auto_scale_lr.enable = True


def scale_by_effective_batch(runner: Runner) -> None:
    """Let a Runner that scales its rates count accumulated steps too, which mmengine does not.

    Every group's rate is scaled, and the one that mmengine logs as ``base_lr`` where there are several groups.
    """
    scaling = runner.cfg.get("auto_scale_lr") or {}
    if not scaling.get("enable"):
        return
    scale_learning_rate(runner.cfg)
    runner.scale_lr = partial(_scale, ratio=effective_batch(runner.cfg, get_world_size()) / scaling["base_batch_size"])


def _scale(optim_wrapper: OptimWrapper | OptimWrapperDict, auto_scale_lr: dict | None = None, *, ratio: float) -> None:
    """In the place of ``Runner.scale_lr``, which calls it between building the optimizer and its schedulers."""
    wrappers = optim_wrapper.values() if isinstance(optim_wrapper, OptimWrapperDict) else [optim_wrapper]
    for wrapper in wrappers:
        for group in wrapper.param_groups:
            group["lr"] *= ratio


def effective_batch(cfg: Config, processes: int) -> int:
    """Images that one step of the optimizer sees: processes x images x accumulated steps."""
    return processes * _images(cfg) * _accumulated(cfg)


def describe_batch(cfg: Config, processes: int) -> str:
    """One line: the batch as it is, the one the config is for, and the learning rate.

    Args:
        cfg: The config of the training.
        processes: How many processes train together.
    """
    images, accumulated = _images(cfg), _accumulated(cfg)
    factors = [f"{processes} process{'es' * (processes > 1)}", f"{images} image{'s' * (images > 1)}"]
    factors += [f"{accumulated} accumulated steps"] if accumulated > 1 else []
    size = effective_batch(cfg, processes)
    rate = (cfg.optim_wrapper.get("optimizer") or {}).get("lr")
    described = _describe_rate(rate, size, cfg.get("auto_scale_lr") or {})
    return f"effective batch {size} = {' x '.join(factors)}; {described}"


def describe_position(runner: Runner) -> str:
    """Where a resumed training goes on, and with which rate: the optimizer's own, after its state came back."""
    wrapper = runner.optim_wrapper
    wrappers = wrapper.values() if isinstance(wrapper, OptimWrapperDict) else [wrapper]
    rates = sorted({group["lr"] for one in wrappers for group in one.optimizer.param_groups})
    in_use = f"{rates[0]:.6g}" if len(rates) == 1 else f"{rates[0]:.6g} to {rates[-1]:.6g}, by group,"
    return f"resumed behind epoch {runner.epoch}, iteration {runner.iter}: learning rate {in_use} is in use"


def _images(cfg: Config) -> int:
    loader = cfg.train_dataloader
    return loader.get("batch_size") or (loader.get("batch_sampler") or {}).get("batch_size") or 1


def _accumulated(cfg: Config) -> int:
    return cfg.optim_wrapper.get("accumulative_counts") or 1


def _describe_rate(rate: float | None, batch: int, scaling: dict) -> str:
    base = scaling.get("base_batch_size")
    if rate is None:
        return "the optimizer's learning rate is its own default"
    if base is None:
        return f"learning rate {rate:g}; the config does not say for which batch (auto_scale_lr.base_batch_size)"
    if base == batch:
        return f"learning rate {rate:g}, for a batch of {base} as here"
    scaled = f"{rate * batch / base:g}"
    if scaling.get("enable"):
        return f"learning rate {rate:g} for a batch of {base}, scaled to {scaled} for one of {batch}"
    return f"learning rate {rate:g} is for a batch of {base} and is NOT scaled: --auto-scale-lr would make it {scaled}"
