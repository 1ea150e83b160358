"""Norms by name, as configs have them."""

from typing import Any

from mmcv.cnn import build_norm_layer
from torch import nn

from csan_mm.common.errors import ArgumentError


def build_norm(name: str, cfg: dict[str, Any], width: int) -> nn.Module:
    """The norm that the argument ``name`` describes.

    Raises:
        ArgumentError: There is none of that type, or not with these options.
    """
    try:
        return build_norm_layer(dict(cfg), width)[1]
    except (KeyError, TypeError, ValueError, AssertionError) as error:
        raise ArgumentError(
            f"{name}={cfg!r} is not a norm of {width} channels ({error}): take dict(type='LN'), say"
        ) from error
