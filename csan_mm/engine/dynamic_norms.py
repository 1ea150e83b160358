"""Watches what dynamic layers predict: with too many of them WeightFormer's training diverges (arXiv 2605.01711)."""

import logging
import math
from typing import Any

from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from csan_mm.common.checks import check_int, check_number
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.dynamic import DynamicLayer
from csan_mm.registry import HOOKS


@HOOKS.register_module()
class DynamicNormHook(Hook):
    """Logs ||dW|| / ||w|| of every dynamic layer beside the losses, and warns once for each layer where it is too large.

    dW is taken before the guard W = w + dW / (||dW|| + 1). The guard lets through less than 1 per column whatever dW is, so a
    ratio far above 1 says that the prediction's size no longer matters and only its direction is left. Every ``interval``
    iterations the kernels are predicted once more, from the same tokens; in the others the hook does nothing.

    Args:
        interval: Iterations between two looks. Default: 50, which is also LoggerHook's.
        warn_above: Ratio above which a layer is named in a warning; our choice, the paper gives none. Default: 10.

    Raises:
        ValueError: An interval below 1; at the start of training, a model without dynamic layers.

    Example:
        >>> custom_hooks = [dict(type='csan_mm.DynamicNormHook', interval=50)]
    """

    def __init__(self, interval: int = 50, warn_above: float = 10.0) -> None:
        self.interval = check_int("interval", interval, 1)
        self.warn_above = check_number("warn_above", warn_above, above=0)
        self._layers: dict[str, DynamicLayer] = {}
        self._handles: list[RemovableHandle] = []
        self._ratios: dict[str, float] = {}
        self._warned: set[str] = set()

    def before_train(self, runner: Runner) -> None:
        """Find the dynamic layers."""
        model = runner.model.module if is_model_wrapper(runner.model) else runner.model
        self._layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, DynamicLayer)}
        if not self._layers:
            raise ArgumentError(
                f"{type(model).__name__} has no dynamic layers to watch: take DynamicNormHook out of custom_hooks"
            )

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None) -> None:
        """Listen to the layers in every ``interval``-th iteration."""
        if self.every_n_train_iters(runner, self.interval):
            self._handles = [layer.register_forward_hook(self._listener(name)) for name, layer in self._layers.items()]

    def after_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: dict[str, Any] | None = None
    ) -> None:
        """Publish what was heard, and warn."""
        for handle in self._handles:
            handle.remove()
        for name, ratio in self._ratios.items():
            runner.message_hub.update_scalar(f"train/dynamic_norm/{name.removeprefix('backbone.')}", ratio)
            if not (math.isfinite(ratio) and ratio <= self.warn_above) and name not in self._warned:
                self._warn(name, ratio, runner.iter + 1)
        self._handles, self._ratios = [], {}

    def _listener(self, name: str) -> Any:
        def listen(layer: nn.Module, args: tuple[Any, ...], _: Tensor) -> None:
            self._ratios[name] = layer.norm_ratio(*args)

        return listen

    def _warn(self, name: str, ratio: float, iteration: int) -> None:
        self._warned.add(name)
        print_log(
            f"iteration {iteration}: ||dW|| is {ratio:.3g} times ||w|| in {name} (warn_above={self.warn_above:g}): if the loss "
            f"grows, set backbone.layer_scale=0.1, optim_wrapper.clip_grad=dict(max_norm=1.0), or a larger backbone.dynamic",
            logger="current",
            level=logging.WARNING,
        )
