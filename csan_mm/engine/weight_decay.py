"""Which parameters decay: one mechanism for every recipe."""

import logging
from collections.abc import Iterator
from typing import Any

from mmengine.logging import print_log
from mmengine.optim import DefaultOptimWrapperConstructor
from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from csan_mm.common.checks import check_bool, check_cfg, check_number
from csan_mm.common.errors import ArgumentError
from csan_mm.registry import OPTIM_WRAPPER_CONSTRUCTORS

#: Modules whose weight and bias are a norm's; batch norms and instance norms are _NormBase.
NORMS = (_NormBase, nn.GroupNorm, nn.LayerNorm, nn.RMSNorm)

#: What mmengine's constructor reads.
MMENGINE_KEYS = frozenset(
    {
        "custom_keys",
        "bias_lr_mult",
        "bias_decay_mult",
        "norm_decay_mult",
        "flat_decay_mult",
        "dwconv_decay_mult",
        "dcn_offset_lr_mult",
        "bypass_duplicate",
    }
)


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class OptimWrapperConstructor(DefaultOptimWrapperConstructor):
    """mmengine's constructor, which also asks the model what must not decay.

    A parameter's weight decay is the optimizer's times the first of these factors that is given:

    1. ``decay_mult`` of the custom key that is part of its name,
    2. 0, if a module's ``no_weight_decay()`` names it (the backbones of csan_mm: positions, tokens, position bias tables),
    3. ``norm_decay_mult``, if it belongs to a norm, whatever the norm is called,
    4. ``bias_decay_mult``, if it is a bias, also the one of ``nn.MultiheadAttention``,
    5. ``dwconv_decay_mult`` in a depth-wise convolution, ``flat_decay_mult`` if it has one dimension,
    6. 1.

    Unlike in mmengine, a custom key that sets only ``lr_mult`` leaves the decay to the other rules.

    Args:
        optim_wrapper_cfg: Optimizer wrapper with its ``optimizer``.
        paramwise_cfg: What mmengine's constructor takes: ``custom_keys``, ``norm_decay_mult``, ``bias_decay_mult``,
            ``flat_decay_mult`` and so on. Default: none.

    Raises:
        ValueError: An unknown key, a factor that is not a number from 0 up, or nothing for it to scale.

    Example:
        >>> optim_wrapper = dict(
        ...     type='OptimWrapper',
        ...     constructor='csan_mm.OptimWrapperConstructor',
        ...     paramwise_cfg=dict(norm_decay_mult=0.0, bias_decay_mult=0.0),
        ...     optimizer=dict(type='AdamW', lr=1e-4, weight_decay=0.05),
        ... )
    """

    #: Keys of paramwise_cfg.
    known_keys = MMENGINE_KEYS

    def __init__(self, optim_wrapper_cfg: dict[str, Any], paramwise_cfg: dict[str, Any] | None = None) -> None:
        _check_wrapper(optim_wrapper_cfg)
        self._check_paramwise({} if paramwise_cfg is None else paramwise_cfg, optim_wrapper_cfg["optimizer"])
        super().__init__(optim_wrapper_cfg, paramwise_cfg)
        # mmengine makes no groups where there are no options, and no_weight_decay() needs them.
        self.paramwise_cfg = {"bypass_duplicate": False, **self.paramwise_cfg}

    def _check_paramwise(self, paramwise_cfg: Any, optimizer: dict[str, Any]) -> None:
        if not isinstance(paramwise_cfg, dict):
            raise ArgumentError(f"paramwise_cfg={paramwise_cfg!r} is invalid: take a dict, or None")
        if unknown := sorted(set(paramwise_cfg) - self.known_keys):
            raise ArgumentError(
                f"paramwise_cfg has unknown keys {', '.join(unknown)}: take {', '.join(sorted(self.known_keys))}"
            )
        for key, value in paramwise_cfg.items():
            if key == "bypass_duplicate":
                check_bool("paramwise_cfg: bypass_duplicate", value)
            elif key == "custom_keys":
                _check_custom_keys(value)
            elif value is not None:
                check_number(f"paramwise_cfg: {key}", value, least=0)
        _check_base_is_given(paramwise_cfg, optimizer)

    def add_params(
        self,
        params: list[dict[str, Any]],
        module: nn.Module,
        prefix: str = "",
        is_dcn_module: int | float | None = None,
    ) -> None:
        """As mmengine's, which calls it for each module; the whole model's groups are completed at the end."""
        super().add_params(params, module, prefix, is_dcn_module)
        if not prefix:
            names = {parameter: name for name, parameter in module.named_parameters()}
            self.complete({names[group["params"][0]]: group for group in params}, module)

    def complete(self, groups: dict[str, dict[str, Any]], model: nn.Module) -> None:
        """Decide the decay of all groups, which hold one parameter each and stand under its name."""
        exempt = set(undecayed(model))
        for name, group in groups.items():
            if self.base_wd is not None and "decay_mult" not in group:
                factor = 0.0 if name in exempt else self._decay_mult(name, model.get_submodule(name.rpartition(".")[0]))
                group["weight_decay"] = self.base_wd * factor
        for key in self.paramwise_cfg.get("custom_keys", {}):
            if not any(key in name for name in groups):
                print_log(f"custom_keys[{key!r}] is in no parameter's name", logger="current", level=logging.WARNING)

    def _decay_mult(self, name: str, module: nn.Module) -> float:
        """Rules 3 to 6 of the class."""
        own_name = name.rpartition(".")[2]
        parameter = getattr(module, own_name)
        depthwise = isinstance(module, nn.Conv2d) and module.in_channels == module.groups
        rules = {
            "norm_decay_mult": isinstance(module, NORMS),
            "bias_decay_mult": own_name == "bias" or own_name.endswith("_bias"),
            "dwconv_decay_mult": depthwise,
            "flat_decay_mult": parameter.ndim <= 1,
        }
        factors = (self.paramwise_cfg.get(rule) for rule, applies in rules.items() if applies)
        return next((factor for factor in factors if factor is not None), 1.0)


def _check_wrapper(optim_wrapper_cfg: Any) -> None:
    if not isinstance(optim_wrapper_cfg, dict) or "optimizer" not in optim_wrapper_cfg:
        raise ArgumentError(f"optim_wrapper_cfg={optim_wrapper_cfg!r} is invalid: take a dict with an `optimizer`")
    optimizer = optim_wrapper_cfg["optimizer"]
    check_cfg("optim_wrapper_cfg: optimizer", optimizer, optional=False)
    for name in ("lr", "weight_decay"):
        if optimizer.get(name) is not None:
            check_number(f"optim_wrapper_cfg: optimizer.{name}", optimizer[name], least=0)


def _check_custom_keys(custom_keys: Any) -> None:
    name = "paramwise_cfg: custom_keys"
    if not isinstance(custom_keys, dict):
        raise ArgumentError(
            f"{name}={custom_keys!r} is invalid: take a dict, part of a name -> its lr_mult, decay_mult"
        )
    for key, options in custom_keys.items():
        if not isinstance(options, dict):
            raise ArgumentError(f"{name}[{key!r}]={options!r} is invalid: take a dict with lr_mult, decay_mult")
        if wrong := sorted(set(options) - {"lr_mult", "decay_mult"}):
            raise ArgumentError(f"{name}[{key!r}] has {', '.join(wrong)}: take lr_mult, decay_mult")
        for option, value in options.items():
            check_number(f"{name}[{key!r}].{option}", value, least=0)


def _check_base_is_given(paramwise_cfg: dict[str, Any], optimizer: dict[str, Any]) -> None:
    """mmengine scales no rate or decay but one that is written down."""
    factors = {key: value for key, value in paramwise_cfg.items() if key.endswith("_mult")}
    for key, options in paramwise_cfg.get("custom_keys", {}).items():
        factors |= {f"custom_keys[{key!r}].{option}": value for option, value in options.items()}
    for key, value in factors.items():
        base = "lr" if key.endswith("lr_mult") else "weight_decay"
        if value is not None and optimizer.get(base) is None:
            raise ArgumentError(
                f"paramwise_cfg: {key} scales the optimizer's {base}, and there is none: set optimizer.{base}"
            )


def undecayed(model: nn.Module) -> Iterator[str]:
    """Full names of the parameters that the model's modules name in ``no_weight_decay()``."""
    for prefix, module in model.named_modules():
        if callable(getattr(module, "no_weight_decay", None)):
            yield from (f"{prefix}.{name}" if prefix else name for name in module.no_weight_decay())
