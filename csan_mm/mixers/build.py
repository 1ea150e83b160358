"""From a name in a config to a mixer."""

from typing import Any

from csan_mm.mixers.base import TokenMixer
from csan_mm.registry import MIXERS


def build_mixer(mixer: str | dict[str, Any], kappa: str, granularity: str, **dims: Any) -> TokenMixer:
    """Build a mixer for a backbone.

    Args:
        mixer: A registered name ('csan', 'softmax', ...), or a dict with that name as ``type`` and the mixer's own options.
        kappa: CSaN's kappa; other mixers have none.
        granularity: CSaN's granularity; other mixers have none.
        **dims: What every mixer takes: ``embed_dims``, ``num_heads``, ``window_size``, ``qkv_bias``.

    Raises:
        ValueError: The name is not registered.
    """
    cfg = {"type": mixer} if isinstance(mixer, str) else dict(mixer)
    if cfg.get("type") not in MIXERS:
        raise ValueError(f"mixer={mixer!r} is unknown: take one of {', '.join(sorted(MIXERS.module_dict))}")
    if cfg["type"] == "csan":
        cfg = {"kappa": kappa, "granularity": granularity, **cfg}
    return MIXERS.build({**cfg, **dims})


def widened(mixer: dict[str, Any], embed_dims: int, ratio: float) -> dict[str, Any]:
    """Options of :func:`build_mixer` for an attention of ``ratio`` times the width and heads, which comes back to C."""
    if ratio == 1:
        return mixer
    return {**mixer, "num_heads": int(ratio * mixer["num_heads"]), "inner_dims": int(ratio * embed_dims)}
