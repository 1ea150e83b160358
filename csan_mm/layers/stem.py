"""The first convolution of a network: how many channels its images have."""

from torch import nn

RGB = 3


def first_convolution(network: nn.Module) -> tuple[str, nn.Conv2d] | None:
    """Name and module of the convolution an image meets first, that of ``backbone`` where a model has one; ``None``: no such."""
    for prefix in ("backbone.", "model.backbone.", ""):
        for name, module in network.named_modules():
            if name.startswith(prefix) and isinstance(module, nn.Conv2d):
                return name, module
    return None


def image_channels(network: nn.Module) -> int:
    """Channels of the images a network takes; 3 where it has no convolution."""
    found = first_convolution(network)
    return RGB if found is None else found[1].in_channels
