"""What a resumed training asks of its rates and schedules holds, though the checkpoint brings its own back."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.optim import OptimWrapperDict
from mmengine.runner import EpochBasedTrainLoop, Runner

from csan_mm.common.errors import CheckpointError

#: What a scheduler's state says of its position; the rest are its settings.
_POSITION = ("last_step", "_global_step", "_last_value", "base_values", "verbose")

#: By these arguments of their groups optimizers of different kinds are told apart.
_KINDS = ("betas", "momentum", "alpha", "rho")


class ResumeRatesHook(Hook):
    """Before a checkpoint's optimizer and schedulers are loaded, compares their settings with what the config asks for now.

    mmengine loads the state over the config's settings, so that another ``lr``, another scaling of it, another schedule or, for
    schedules counted in iterations, another number of iterations per epoch had no effect or a wrong one. Where nothing differs
    the state is loaded as it is. Where something does, a warning names it, the moments of the optimizer are kept, and every
    rate becomes what it were had the training run with the new settings from its beginning: the schedules are stepped there.

    Raises:
        CheckpointError: On resuming, the optimizer is of another kind or has other groups of parameters, or a schedule that
            follows a metric has other settings.
    """

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Called between reading and loading; writes what has to hold into the checkpoint."""
        differences: list[str] = []
        optimizers = _by_name(runner.optim_wrapper, checkpoint["optimizer"])
        for name, (wrapper, saved) in optimizers.items():
            differences += _compare_groups(name, wrapper.param_groups, _saved_groups(saved))
        schedules = _by_name(runner.param_schedulers or [], checkpoint.get("param_schedulers") or [])
        for name, (asked, saved) in schedules.items():
            differences += _compare_schedules(name, asked, saved)
        if not differences:
            return
        iterations, epoch = _position(runner, checkpoint["meta"])
        for asked, _ in schedules.values():
            _step_to(asked, iterations, epoch)
        for wrapper, saved in optimizers.values():
            for group, old in zip(wrapper.param_groups, _saved_groups(saved)):
                old.update({key: value for key, value in group.items() if key != "params"})
        _put_schedules(checkpoint, runner.param_schedulers)
        if isinstance(runner.train_loop, EpochBasedTrainLoop):
            checkpoint["meta"]["iter"] = iterations
        print_log(
            f"resumed with settings other than the checkpoint's ({'; '.join(differences)}): the new ones hold, as if they had "
            f"from the beginning",
            logger="current",
            level=logging.WARNING,
        )


def _by_name(ours: Any, saved: Any) -> dict[str, tuple[Any, Any]]:
    """One optimizer or list of schedulers under '', several (OptimWrapperDict) under their names."""
    if isinstance(ours, (dict, OptimWrapperDict)):
        absent = [name for name in ours if not isinstance(saved, Mapping) or name not in saved]
        if absent:
            raise CheckpointError(f"--resume: the checkpoint has no state of {', '.join(absent)}: {_CURE}")
        return {name: (value, saved[name]) for name, value in ours.items()}
    return {"": (ours, saved)}


_CURE = "resume with the config it was trained with, or start from its weights with --cfg-options load_from=CHECKPOINT"


def _saved_groups(state: dict[str, Any]) -> list[dict[str, Any]]:
    """The optimizer's groups, and the one in which mmengine's wrapper keeps the common rate where there are several."""
    common = state.get("base_param_settings")
    return [*state["param_groups"], *([common] if common is not None else [])]


def _compare_groups(name: str, asked: list[dict], saved: list[dict]) -> list[str]:
    if len(asked) != len(saved) or any(_size(one) != _size(two) for one, two in zip(asked, saved)):
        raise CheckpointError(
            f"--resume: the config's optimizer has {len(asked)} groups of parameters and the checkpoint's {len(saved)}, or they "
            f"hold other parameters: {_CURE}"
        )
    found: dict[str, str] = {}
    for one, two in zip(asked, saved):
        other_kind = [key for key in _KINDS if (key in one) != (key in two)]
        if other_kind:
            raise CheckpointError(f"--resume: only one of both optimizers has {other_kind[0]!r}: {_CURE}")
        for key in one.keys() & two.keys() - {"params"}:
            if key.startswith("initial_"):
                continue
            new, old = (group.get(f"initial_{key}", group[key]) for group in (one, two))
            if not _equal(new, old):
                found.setdefault(key, f"{name + ' ' if name else ''}{key} {_shown(old)} is now {_shown(new)}")
    return [found[key] for key in sorted(found)]


def _size(group: dict[str, Any]) -> int:
    return len(group["params"])


def _compare_schedules(name: str, asked: list, saved: list[dict]) -> list[str]:
    prefix = f"{name} " if name else ""
    if len(asked) != len(saved):
        return [f"{prefix}{len(saved)} param_scheduler entries are now {len(asked)}"]
    found = []
    for number, (scheduler, old) in enumerate(zip(asked, saved)):
        new = scheduler.state_dict()
        if getattr(scheduler, "need_val_args", False):  # its best metric and its patience are not settings
            continue
        keys = sorted((new.keys() | old.keys()) - set(_POSITION))
        changed = [key for key in keys if key not in new or key not in old or not _equal(new[key], old[key])]
        found += [
            f"{prefix}param_scheduler[{number}] {key.lstrip('_')} {_shown(old.get(key))} is now {_shown(new.get(key))}"
            for key in changed
        ]
    return found


def _position(runner: Runner, meta: Mapping[str, Any]) -> tuple[int, int]:
    """Iterations and epochs behind the checkpoint, as this training counts them."""
    if isinstance(runner.train_loop, EpochBasedTrainLoop):
        return meta["epoch"] * len(runner.train_loop.dataloader), meta["epoch"]
    return meta["iter"], 0


def _step_to(schedulers: Iterable[Any], iterations: int, epochs: int) -> None:
    """Step fresh schedulers as mmengine's ParamSchedulerHook would have: each iteration, and at each epoch's end."""
    schedulers = list(schedulers)
    if any(getattr(scheduler, "need_val_args", False) for scheduler in schedulers):
        raise CheckpointError(f"--resume: a schedule that follows a metric cannot go on with other settings: {_CURE}")
    length = iterations // epochs if epochs else 0
    for scheduler in schedulers:
        scheduler.optimizer._global_step = 0  # or it warns that no optimizer step was made
    for iteration in range(1, iterations + 1):
        for scheduler in schedulers:
            if not scheduler.by_epoch:
                scheduler.step()
        if length and iteration % length == 0:
            for scheduler in schedulers:
                if scheduler.by_epoch:
                    scheduler.step()


def _put_schedules(checkpoint: dict[str, Any], schedulers: Any) -> None:
    if isinstance(schedulers, dict):
        states: Any = {name: [one.state_dict() for one in some] for name, some in schedulers.items()}
    else:
        states = [one.state_dict() for one in schedulers or []]
    checkpoint["param_schedulers"] = states


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other))
    return bool(one == other)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
