"""RoIAlign with gradient (He et al., arXiv:1703.06870), as ``mmcv.ops.roi_align`` calls it.

A box is cut into PH x PW bins, each sampled bilinearly at gh x gw points: ``sampling_ratio`` in each direction or, when that
is 0, one per cell (rounded up), so that gh and gw differ from box to box. The mean over the points comes from torchvision, which
has no maximum. Its gradient is computed here on CUDA when PyTorch is told to be deterministic, which torchvision's kernel is not.

Letters: N images, C channels, H x W cells, K boxes, k of them with the same gh and gw.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torchvision  # noqa: F401  registers torch.ops.torchvision
from torch import Tensor

from csan_mm.ops.ext.dtypes import computable
from csan_mm.ops.ext.finder import CURE

AVG = 1  # mmcv's code of the mean
MAX_SAMPLES = 2**26  # values sampled at once; more boxes than that are taken in turns


class _Bins(NamedTuple):
    """How boxes are cut: PH and PW, cells per pixel, samples of a bin in each direction (0: one per cell), half-cell shift."""

    size: tuple[int, int]
    scale: float
    ratio: int
    aligned: bool


def roi_align_forward(
    input: Tensor,
    rois: Tensor,
    output: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    """Pool every box.

    Args:
        input: (N, C, H, W).
        rois: (K, 5), each the image's index, x1, y1, x2, y2 in pixels.
        output: (K, C, PH, PW), set. A bin without any sample (adaptive sampling of a box without area) gives 0.
        argmax_y: Empty, and left alone; of use to the maximum only, like the next.
        argmax_x: See above.
        aligned_height: PH.
        aligned_width: PW.
        spatial_scale: Cells per pixel.
        sampling_ratio: Samples of a bin in each direction; 0 for one per cell.
        pool_mode: 1, the mean.
        aligned: Whether pixel centres lie at half-integers; if not, a box has at least one cell (the first form of RoIAlign).

    Raises:
        NotImplementedError: The maximum.
    """
    if pool_mode != AVG:
        raise NotImplementedError(
            f"csan_mm serves RoIAlign's mean and not its maximum: set pool_mode='avg', as mmdet's configs have it. {CURE}"
        )
    feats, boxes = computable(input, rois)
    size = (aligned_height, aligned_width)
    output.copy_(torch.ops.torchvision.roi_align(feats, boxes, spatial_scale, *size, sampling_ratio, aligned))


def roi_align_backward(
    grad_output: Tensor,
    rois: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    grad_input: Tensor,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    """Set ``grad_input`` (N, C, H, W) from the gradient of the pooled boxes; the other arguments as in the forward pass."""
    grad, boxes = computable(grad_output, rois)
    bins = _Bins((aligned_height, aligned_width), spatial_scale, sampling_ratio, aligned)
    shape = tuple(grad_input.shape)
    if grad.is_cuda and torch.are_deterministic_algorithms_enabled():
        result = _avg_backward(grad, boxes, bins, shape)
    else:
        result = torch.ops.torchvision._roi_align_backward(
            grad, boxes, spatial_scale, *bins.size, *shape, sampling_ratio, aligned
        )
    grad_input.copy_(result)


def _avg_backward(grad: Tensor, boxes: Tensor, bins: _Bins, shape: tuple[int, ...]) -> Tensor:
    """The gradient of the mean by sums whose order PyTorch can fix (``torch.use_deterministic_algorithms``)."""
    N, C, H, W = shape
    result = grad.new_zeros(N * H * W, C)
    for some, y, x in _samples(boxes, bins, C):
        share = grad[some].permute(0, 2, 3, 1)[:, :, None, :, None] / (y.size(2) * x.size(2))  # (k, PH, 1, PW, 1, C)
        for at, weight in _corners(_image(boxes[some]), y, x, (H, W)):
            result.index_add_(0, at.reshape(-1), (share * weight[..., None]).reshape(-1, C))
    return result.view(N, H, W, C).permute(0, 3, 1, 2)


def _samples(boxes: Tensor, bins: _Bins, channels: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield boxes that have the same gh x gw samples a bin: their numbers (k,), y (k, PH, gh) and x (k, PW, gw) in cells."""
    start, bin_size = _cut(boxes, bins)
    grids = bin_size.ceil().clamp(min=0).long()  # (K, 2)
    if bins.ratio > 0:
        grids.fill_(bins.ratio)
    for gh, gw in torch.unique(grids, dim=0).tolist():
        if gh * gw == 0:
            continue
        same = (grids == grids.new_tensor((gh, gw))).all(dim=1).nonzero().squeeze(1)
        per_box = bins.size[0] * bins.size[1] * gh * gw * channels
        for some in same.split(max(1, MAX_SAMPLES // max(1, per_box))):
            y, x = (
                start[some, i, None, None]
                + torch.arange(n, device=boxes.device)[:, None] * bin_size[some, i, None, None]
                + (torch.arange(g, device=boxes.device) + 0.5) * bin_size[some, i, None, None] / g
                for i, (n, g) in enumerate(zip(bins.size, (gh, gw)))
            )
            yield some, y, x


def _cut(boxes: Tensor, bins: _Bins) -> tuple[Tensor, Tensor]:
    """Where each box starts and the size of its bins, in cells; each (K, 2) as y, x."""
    x1, y1, x2, y2 = (boxes[:, 1:] * bins.scale - (0.5 if bins.aligned else 0.0)).unbind(dim=1)
    extent = torch.stack((y2 - y1, x2 - x1), dim=1)
    if not bins.aligned:
        extent = extent.clamp(min=1)
    return torch.stack((y1, x1), dim=1), extent / extent.new_tensor(bins.size)


def _corners(image: Tensor, y: Tensor, x: Tensor, size: tuple[int, int]) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield, for the four cells around each sample, its row in (N * H * W) and its weight; each (k, PH, gh, PW, gw)."""
    H, W = size
    for yi, wy in _neighbours(y, H):
        for xi, wx in _neighbours(x, W):
            row = image[:, None, None] * H + yi  # (k, PH, gh)
            yield row[..., None, None] * W + xi[:, None, None], wy[..., None, None] * wx[:, None, None]


def _neighbours(coordinate: Tensor, length: int) -> list[tuple[Tensor, Tensor]]:
    """The cells before and after each coordinate, with their weights.

    Up to one cell outside the map the border cell counts alone; further out nothing does.
    """
    inside = ((coordinate >= -1) & (coordinate <= length)).to(coordinate)
    coordinate = coordinate.clamp(0, length - 1)
    low = coordinate.floor()
    high = (low + 1).clamp(max=length - 1)
    part = coordinate - low
    return [(low.long(), (1 - part) * inside), (high.long(), part * inside)]


def _image(boxes: Tensor) -> Tensor:
    return boxes[:, 0].long()
