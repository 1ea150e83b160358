"""torch's convolution, with a gradient that lies in memory as the weight does."""

import torch
from torch import Tensor, nn


class Conv2d(nn.Conv2d):
    """``nn.Conv2d``: same arguments, parameters, start and output.

    For a channels_last map, and with oneDNN's kernels for 1 x 1, torch lays the weight's gradient out in other strides than the
    weight's. DDP, whose buckets have the weight's own, then copies each such gradient and warns of it. Here the gradient comes
    back through a view, which gives it the strides of a plain weight; one that a user laid out as channels_last is left alone.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Convolve (B, C, H, W)."""
        _, width, rows, columns = self.weight.shape
        plain = self.weight.stride() == (width * rows * columns, rows * columns, columns, 1)
        views = plain and torch.is_grad_enabled()  # an exported graph has no use for them
        weight = self.weight.flatten(1).view_as(self.weight) if views else self.weight
        return self._conv_forward(x, weight, self.bias)
