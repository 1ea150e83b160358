"""What an argument's name stands for in every public constructor, and its check: one table, one call at the top of each."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from csan_mm.common.checks import (
    check_bool,
    check_cfg,
    check_int,
    check_number,
    check_odd,
    check_path,
    check_size,
    is_int,
)
from csan_mm.common.errors import ArgumentError

Check = Callable[[str, Any], Any]


def _optional(check: Check) -> Check:
    """``None`` is right too."""
    return lambda name, value: None if value is None else check(name, value)


def _check_indices(name: str, value: Any) -> None:
    """A whole number or a sequence of them; the range is the class's affair."""
    entries = [value] if is_int(value) else value
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not all(is_int(entry) for entry in entries):
        raise ArgumentError(f"{name}={value!r} is invalid: take a whole number, or several: (0, 1)")


def _check_heads(name: str, value: Any) -> None:
    """A number from 1 up or a sequence of them, or ``None``."""
    entries = [value] if is_int(value) else [] if value is None else value
    if (
        not isinstance(entries, Sequence)
        or isinstance(entries, str)
        or not all(is_int(entry) and entry > 0 for entry in entries)
    ):
        raise ArgumentError(f"{name}={value!r} is not a number of heads: take one from 1 up, one per stage, or None")


def _check_init_cfg(name: str, value: Any) -> None:
    for entry in value if isinstance(value, (list, tuple)) else [value]:
        check_cfg(name, entry)


_COUNT = partial(check_int, least=1)
_POSITIVE = partial(check_number, above=0)
_FLAG = check_bool

CHECKS: dict[str, Check] = {
    **dict.fromkeys(("embed_dims", "in_channels", "out_channels", "num_heads", "head_dims", "patch_size"), _COUNT),
    **dict.fromkeys(("query_pool", "num_layers", "num_outs", "attention_ratio", "u_reduction", "z_reduction"), _COUNT),
    **dict.fromkeys(("out_dims", "inner_dims"), _optional(_COUNT)),
    **dict.fromkeys(("num_registers",), partial(check_int, least=0)),
    **dict.fromkeys(("frozen_stages",), partial(check_int, least=-1)),
    **dict.fromkeys(("mlp_ratio", "cls_std", "bend"), _POSITIVE),
    **dict.fromkeys(("added_eps",), partial(check_number, least=0)),
    **dict.fromkeys(("layer_scale",), _optional(_POSITIVE)),
    **dict.fromkeys(("drop_path_rate",), partial(check_number, least=0, below=1)),
    **dict.fromkeys(("qkv_bias",), partial(check_bool, optional=True)),
    **dict.fromkeys(("qk_norm", "with_cls_token", "no_embed_class", "final_norm", "norm_eval", "with_cp"), _FLAG),
    **dict.fromkeys(("abs_win_pos_embed", "legacy_pooling", "contraction", "align_corners"), _FLAG),
    **dict.fromkeys(
        (
            "gate",
            "local_enhancement",
            "rotary",
            "rotary_in_z",
            "use_beta",
            "use_gamma",
            "learnable",
            "pooled_mu",
            "unit_queries",
        ),
        _FLAG,
    ),
    **dict.fromkeys(("img_size",), check_size),
    **dict.fromkeys(("out_indices", "global_indices"), _check_indices),
    **dict.fromkeys(("heads",), _check_heads),
    **dict.fromkeys(("norm_cfg",), check_cfg),
    **dict.fromkeys(("stem_norm_cfg", "conv_norm_cfg"), partial(check_cfg, optional=False)),
    **dict.fromkeys(("init_cfg",), _check_init_cfg),
    # layers
    **dict.fromkeys(("hidden_dims", "in_features", "out_features", "rate", "stride", "pooling"), _COUNT),
    "kernel_size": check_odd,
    **dict.fromkeys(("step_size", "epsilon"), _POSITIVE),
    "threshold": partial(check_number, least=0),
    "norm_eps": _optional(_POSITIVE),
    # training and weights
    **dict.fromkeys(("persistent", "strict", "trust", "by_epoch", "verbose"), _FLAG),
    "checkpoint": check_path,
    "start_factor": partial(check_number, least=0, most=1),
    "eta_min": _optional(partial(check_number, least=0)),
    "eta_min_ratio": _optional(partial(check_number, least=0, most=1)),
    **dict.fromkeys(("T_max", "end"), _COUNT),
    **dict.fromkeys(("warmup", "begin"), partial(check_int, least=0)),
    "last_step": partial(check_int, least=-1),
}


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Check all arguments whose name is known; the first line of a constructor: ``check_arguments(locals())``.

    Raises:
        ArgumentError: One is invalid; the message names it, what it got and what would do.
    """
    for name, value in arguments.items():
        if name in CHECKS:
            CHECKS[name](name, value)
