"""Autocast, turned off around what must keep its type."""

from contextlib import AbstractContextManager, nullcontext

import torch


def autocast_off(device: torch.device) -> AbstractContextManager:
    """A block in which autocast changes no type on ``device``; the meta device has no autocast to turn off."""
    return nullcontext() if device.type == "meta" else torch.autocast(device.type, enabled=False)
