"""Heads, each for one OpenMMLab package; a head's file, and with it that package, is imported when the head is asked for.

``import csan_mm`` therefore imports neither mmseg nor mmpretrain, and works where only one of them is installed.
"""

from importlib import import_module
from typing import Any

from csan_mm.common.install import install_command

#: Name of a head -> its file in this folder, and the package it needs.
HEADS = {
    "CBTHead": ("cbt_head", "mmseg"),
}

__all__ = list(HEADS)


def __getattr__(name: str) -> Any:
    """Import a head.

    Raises:
        AttributeError: There is no such head.
        ImportError: The package it is for is missing.
    """
    if name not in HEADS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    file, package = HEADS[name]
    try:
        return getattr(import_module(f"{__name__}.{file}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != package:
            raise
        raise ImportError(
            f"{name} is a head for {package}, which is not installed: {install_command('onedl')}"
        ) from error
