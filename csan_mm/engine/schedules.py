"""Learning rate schedules of the papers that mmengine's schedulers cannot make."""

import math
from typing import Any

from mmengine.optim import BaseOptimWrapper, _ParamScheduler
from mmengine.optim.scheduler.param_scheduler import INF
from torch.optim import Optimizer

from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.registry import PARAM_SCHEDULERS


@PARAM_SCHEDULERS.register_module()
class WarmupCosineLR(_ParamScheduler):
    """A cosine that counts from step 0, and a linear warm-up that takes its place for the first steps.

    With the optimizer's rate lr and floor = ``eta_min``, or ``eta_min_ratio`` * lr, step t has the rate

        t < warmup:   lr * (start_factor + (1 - start_factor) * t / warmup)
        t >= warmup:  floor + (lr - floor) * (1 + cos(pi * min(t, T_max) / T_max)) / 2

    So the cosine has already fallen a little when the warm-up ends. This is timm's CosineLRScheduler (``warmup_prefix=False``),
    with which CSaN, MALA and WeightFormer were trained. mmengine's LinearLR and CosineAnnealingLR in a row start the cosine
    at the end of the warm-up.

    Args:
        optimizer: Optimizer or optimizer wrapper.
        warmup: Length of the warm-up, in epochs, or iterations with ``by_epoch=False``.
        T_max: Length of the cosine, counted from step 0. Later steps have the floor: timm's cool-down.
        start_factor: Rate of step 0 divided by lr, 0 to 1.
        eta_min: Floor of the rate. Default: 0.
        eta_min_ratio: The floor divided by lr, 0 to 1, in place of ``eta_min``. Default: none.
        begin: First step at which it sets the rate. Default: 0.
        end: Step from which on it leaves the rate alone; mmengine's Runner gives the training's length. Default: none.
        last_step: Last step that was made, for resuming without a state. Default: -1.
        by_epoch: A step is an epoch; with ``convert_to_iter_based=True`` in a config, an iteration. Default: True.
        verbose: Print the rates. Default: False.

    Raises:
        ValueError: ``warmup`` is not within 0 to ``T_max``, ``start_factor`` or ``eta_min_ratio`` not within 0 to 1, both floors
            are given, or another argument is invalid.

    Example:
        >>> param_scheduler = [
        ...     dict(type='csan_mm.WarmupCosineLR', warmup=20, T_max=300, start_factor=5e-4, eta_min=1e-5)
        ... ]
    """

    def __init__(
        self,
        optimizer: Any,
        warmup: int,
        T_max: int,
        start_factor: float,
        eta_min: float | None = None,
        eta_min_ratio: float | None = None,
        begin: int = 0,
        end: int = INF,
        last_step: int = -1,
        by_epoch: bool = True,
        verbose: bool = False,
    ) -> None:
        check_arguments(locals())
        self._check(optimizer, begin, end)
        if warmup > T_max:
            raise ArgumentError(f"warmup={warmup} with T_max={T_max}: take a warmup of at most T_max")
        if eta_min is not None and eta_min_ratio is not None:
            raise ArgumentError(f"eta_min={eta_min} and eta_min_ratio={eta_min_ratio} are two floors: give one of them")
        self.warmup, self.T_max, self.start_factor = warmup, T_max, start_factor
        self.eta_min, self.eta_min_ratio = eta_min or 0.0, eta_min_ratio
        super().__init__(optimizer, "lr", begin=begin, end=end, last_step=last_step, by_epoch=by_epoch, verbose=verbose)

    @staticmethod
    def _check(optimizer: Any, begin: int, end: int) -> None:
        if not isinstance(optimizer, (Optimizer, BaseOptimWrapper)):
            raise ArgumentError(
                f"optimizer={optimizer!r} is not an optimizer: take a torch optimizer or mmengine's wrapper of one"
            )
        if end <= begin:
            raise ArgumentError(f"end={end} is not behind begin={begin}: take a later one")

    @classmethod
    def build_iter_from_epoch(
        cls,
        *args: Any,
        warmup: int,
        T_max: int,
        epoch_length: int,
        begin: int = 0,
        end: int = INF,
        by_epoch: bool = True,
        **kwargs: Any,
    ) -> "WarmupCosineLR":
        """Build it from lengths in epochs, for steps that are iterations; mmengine's Runner calls this, by_epoch being True."""
        lengths = {"warmup": warmup, "T_max": T_max, "begin": begin, "end": end}
        lengths = {name: length if length == INF else length * epoch_length for name, length in lengths.items()}
        return cls(*args, **lengths, by_epoch=False, **kwargs)

    def _get_value(self) -> list[float]:
        """The rate of each group at this step."""
        return [self._rate(lr, self.last_step) for lr in self.base_values]

    def _rate(self, lr: float, step: int) -> float:
        if step < self.warmup:
            return lr * (self.start_factor + (1 - self.start_factor) * step / self.warmup)
        floor = self.eta_min if self.eta_min_ratio is None else self.eta_min_ratio * lr
        return floor + (lr - floor) * (1 + math.cos(math.pi * min(step, self.T_max) / self.T_max)) / 2
