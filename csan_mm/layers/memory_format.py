"""The memory format of a map."""

import torch
from torch import Tensor


def format_of(x: Tensor) -> torch.memory_format:
    """channels_last where a map (B, C, H, W) is laid out so and not contiguous as well (one cell is both); else contiguous."""
    last = x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()
    return torch.channels_last if last else torch.contiguous_format
