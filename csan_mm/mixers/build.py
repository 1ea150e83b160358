"""From a name in a config to a mixer."""

import inspect
from collections.abc import Mapping
from typing import Any

from csan_mm.common.checks import check_choice
from csan_mm.common.errors import ArgumentError
from csan_mm.mixers.base import TokenMixer
from csan_mm.registry import MIXERS


def build_mixer(
    mixer: str | dict[str, Any], kappa: str = "unbounded", granularity: str = "unit", **dims: Any
) -> TokenMixer:
    """Build a mixer for a backbone.

    A backbone's ``qkv_bias`` of ``None`` leaves it to the mixer: True, but False for those with one projection in place of
    q, k and v (CBSA, MSSA, TSSA), which refuse True.

    Args:
        mixer: A registered name ('csan', 'softmax', ...), or a dict with that name as ``type`` and the mixer's own options.
        kappa: CSaN's kappa; other mixers have none. Default: 'unbounded'.
        granularity: CSaN's granularity; other mixers have none. Default: 'unit'.
        **dims: What every mixer takes: ``embed_dims``, ``num_heads``, ``window_size``, ``qkv_bias``.

    Raises:
        ValueError: The name is not registered, or the mixer has no such option.
    """
    check_choice("kappa", kappa, ("unbounded", "bounded"))
    check_choice("granularity", granularity, ("unit", "head"))
    cfg = mixer_options(mixer)
    if not cfg["type"] or cfg["type"] not in MIXERS:
        raise ArgumentError(f"mixer={mixer!r} is unknown: take one of {', '.join(sorted(MIXERS.module_dict))}")
    if cfg["type"] == "csan":
        cfg = {"kappa": kappa, "granularity": granularity, **cfg}
    cfg |= {name: value for name, value in dims.items() if (name, value) != ("qkv_bias", None)}
    # Not MIXERS.build: it looks for a mixer registry in the config's default scope (mmdet, ...) and warns that there is none.
    check_options(cfg)
    return MIXERS.get(cfg.pop("type"))(**cfg)


def mixer_options(mixer: str | dict[str, Any]) -> dict[str, Any]:
    """A mixer given by its name, or as a dict with that name, as a dict.

    Raises:
        ValueError: Neither of the two.
    """
    cfg = {"type": mixer} if isinstance(mixer, str) else mixer
    if not isinstance(cfg, Mapping) or not isinstance(cfg.get("type"), str):
        names = ", ".join(sorted(MIXERS.module_dict))
        raise ArgumentError(
            f"mixer={mixer!r} has no name: take one of {names}, or a dict with one as `type` and its options"
        )
    return dict(cfg)


def check_options(cfg: dict[str, Any]) -> None:
    """Raise a ValueError that lists a mixer's options where ``cfg`` has others."""
    options = list(inspect.signature(MIXERS.get(cfg["type"])).parameters)
    unknown = sorted(set(cfg) - {"type", *options})
    if unknown:
        raise ArgumentError(f"mixer={cfg['type']!r} has no option {', '.join(unknown)}: it takes {', '.join(options)}")


def widened(mixer: dict[str, Any], embed_dims: int, ratio: float) -> dict[str, Any]:
    """Options of :func:`build_mixer` for an attention of ``ratio`` times the width and heads, which comes back to C."""
    if ratio == 1:
        return mixer
    return {**mixer, "num_heads": int(ratio * mixer["num_heads"]), "inner_dims": int(ratio * embed_dims)}
