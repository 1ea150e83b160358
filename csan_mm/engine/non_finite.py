"""Finds where a training's first NaN or inf comes from."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from csan_mm.common.checks import check_int
from csan_mm.common.errors import NonFiniteError
from csan_mm.registry import HOOKS


@HOOKS.register_module()
class NonFiniteHook(Hook):
    """Stops the training at the first module whose output has a NaN or an inf, and names it.

    Inner modules come before those they stand in, so it is the innermost one. The message says whether what went in was finite
    and whether the module's own parameters were, that is whether the module itself overflows or the last step did. Every
    output is looked at, which on a GPU waits for it: for searching, not for every training.

    Args:
        interval: Iterations from one look to the next. Default: 1.

    Raises:
        ValueError: An interval below 1.
        FloatingPointError: In training, at that module.

    Example:
        >>> custom_hooks = [dict(type='csan_mm.NonFiniteHook')]
    """

    def __init__(self, interval: int = 1) -> None:
        self.interval = check_int("interval", interval, 1)
        self._handles: list[RemovableHandle] = []

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None) -> None:
        """Look at the outputs of every ``interval``-th iteration."""
        if not self.every_n_train_iters(runner, self.interval):
            return
        model = runner.model.module if is_model_wrapper(runner.model) else runner.model
        self._handles = [
            module.register_forward_hook(_watch(name or type(model).__name__, runner.iter + 1), with_kwargs=True)
            for name, module in model.named_modules()
        ]

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: Any = None) -> None:
        """Stop looking until the next one."""
        for handle in self._handles:
            handle.remove()
        self._handles = []


def _watch(name: str, iteration: int) -> Any:
    def look(module: nn.Module, args: tuple, kwargs: dict[str, Any], output: Any) -> None:
        if _all_finite(output):
            return
        bad = [own for own, parameter in module.named_parameters() if not _all_finite(parameter)]
        if bad:
            cause = f"its parameter {bad[0]} is not finite since an earlier step: lower the learning rate or clip the gradient"
        elif not _all_finite((args, kwargs)):
            cause = "what went in is not finite: look at the images, the annotations and what stands before it"
        else:
            cause = "what went in and its parameters are finite: it overflows, or divides by zero"
        raise NonFiniteError(
            f"iteration {iteration}: the first output with a NaN or inf is that of {name} ({type(module).__name__}); {cause}"
        )

    return look


def _all_finite(value: Any) -> bool:
    return all(bool(torch.isfinite(tensor).all()) for tensor in _tensors(value) if tensor.is_floating_point())


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _tensors(inner)
    elif isinstance(value, (tuple, list)):
        for inner in value:
            yield from _tensors(inner)
