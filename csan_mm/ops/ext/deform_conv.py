"""Deformable convolution v1 (Dai et al., arXiv:1703.06211) and v2 (Zhu et al., arXiv:1811.11168), as mmcv calls them.

Shapes, with g groups, d deformable groups and a kernel of kH x kW: input (N, C, H, W), weight (O, C / g, kH, kW), offset
(N, 2 d kH kW, H', W') as y, x pairs, mask (N, d kH kW, H', W'), output (N, O, H', W').
The scratch tensors ``columns`` and ``ones`` and the batch split ``im2col_step`` are of no use to torchvision and stay untouched.

In two things the compiled operators differ from torchvision's, and what is here does as they do:

* v2 does not look at the sizes of offset and mask: it reads the values of each sample from its start, as if they had the
  shapes above. mmdet's DyHead hands over maps of twice the output's side, and its published weights were trained so.
* A point exactly one pixel outside, y = -1 or x = -1, is outside: its offset gets no gradient. torchvision gives it that of the
  inner side. With padding and offsets that start from 0 there are such points in the first step of every training.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
import torchvision  # noqa: F401  registers torch.ops.torchvision
from torch import Tensor

from csan_mm.ops.ext.dtypes import computable


class _Geometry(NamedTuple):
    """What torchvision's operators want after the tensors, in their order."""

    stride_h: int
    stride_w: int
    pad_h: int
    pad_w: int
    dilation_h: int
    dilation_w: int
    groups: int
    deform_groups: int


def deform_conv_forward(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    output: Tensor,
    columns: Tensor,
    ones: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    im2col_step: int,
) -> None:
    """Set ``output`` to the convolution v1."""
    geometry = _Geometry(dH, dW, padH, padW, dilationH, dilationW, group, deformable_group)
    output.copy_(_convolve(input, weight, offset, None, None, geometry))


def deform_conv_backward_input(
    input: Tensor,
    offset: Tensor,
    grad_output: Tensor,
    grad_input: Tensor,
    grad_offset: Tensor,
    weight: Tensor,
    columns: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    im2col_step: int,
) -> None:
    """Set ``grad_input`` and ``grad_offset`` of v1."""
    geometry = _Geometry(dH, dW, padH, padW, dilationH, dilationW, group, deformable_group)
    by_input, _, by_offset, _, _ = _gradients(grad_output, input, weight, offset, None, None, geometry)
    grad_input.copy_(by_input)
    grad_offset.copy_(by_offset)


def deform_conv_backward_parameters(
    input: Tensor,
    offset: Tensor,
    grad_output: Tensor,
    grad_weight: Tensor,
    columns: Tensor,
    ones: Tensor,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    scale: float,
    im2col_step: int,
) -> None:
    """Add ``scale`` times the gradient of v1's weight to ``grad_weight``.

    mmcv asks for it apart from the other two and torchvision computes all at once: a backward pass of v1 costs twice that of v2.
    """
    geometry = _Geometry(dH, dW, padH, padW, dilationH, dilationW, group, deformable_group)
    # The gradient of the weight does not depend on the weight: grad_weight lends its shape.
    _, by_weight, _, _, _ = _gradients(grad_output, input, grad_weight, offset, None, None, geometry)
    grad_weight.add_(by_weight.to(grad_weight), alpha=scale)


def modulated_deform_conv_forward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    ones: Tensor,
    offset: Tensor,
    mask: Tensor,
    output: Tensor,
    columns: Tensor,
    kernel_h: int,
    kernel_w: int,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    group: int,
    deformable_group: int,
    with_bias: bool,
) -> None:
    """Set ``output`` to the convolution v2; ``bias`` is read if ``with_bias``."""
    geometry = _Geometry(stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, group, deformable_group)
    offset, mask = _read_flat(offset, mask, weight, output, geometry)
    output.copy_(_convolve(input, weight, offset, mask, bias if with_bias else None, geometry))


def modulated_deform_conv_backward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    ones: Tensor,
    offset: Tensor,
    mask: Tensor,
    columns: Tensor,
    grad_input: Tensor,
    grad_weight: Tensor,
    grad_bias: Tensor,
    grad_offset: Tensor,
    grad_mask: Tensor,
    grad_output: Tensor,
    kernel_h: int,
    kernel_w: int,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    group: int,
    deformable_group: int,
    with_bias: bool,
) -> None:
    """Set the gradients of v2; ``grad_bias`` only if ``with_bias``."""
    geometry = _Geometry(stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, group, deformable_group)
    bias = bias if with_bias else None
    offset, mask = _read_flat(offset, mask, weight, grad_output, geometry)
    by_input, by_weight, by_offset, by_mask, by_bias = _gradients(
        grad_output, input, weight, offset, mask, bias, geometry
    )
    grad_input.copy_(by_input)
    grad_weight.copy_(by_weight)
    _write_flat(grad_offset, by_offset)
    _write_flat(grad_mask, by_mask)
    if with_bias:
        grad_bias.copy_(by_bias)


def _convolve(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor | None, bias: Tensor | None, geometry: _Geometry
) -> Tensor:
    tensors = _complete(input, weight, offset, mask, bias)
    return torch.ops.torchvision.deform_conv2d(*tensors, *geometry, mask is not None)


def _gradients(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    geometry: _Geometry,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients by input, weight, offset, mask and bias."""
    (grad,) = computable(grad_output)
    tensors = _complete(input, weight, offset, mask, bias)
    by_input, by_weight, by_offset, by_mask, by_bias = torch.ops.torchvision._deform_conv2d_backward(
        grad.contiguous(), *tensors, *geometry, mask is not None
    )
    by_offset = by_offset.masked_fill(_one_pixel_outside(tensors[2], weight, geometry), 0)
    return by_input, by_weight, by_offset, by_mask, by_bias


def _one_pixel_outside(offset: Tensor, weight: Tensor, geometry: _Geometry) -> Tensor:
    """Where a point lies at exactly -1 along the axis an offset moves it on, of the offset's shape."""
    kernel, size, d = weight.shape[2:], offset.shape[2:], geometry.deform_groups
    strides, pads, dilations = geometry[0:2], geometry[2:4], geometry[4:6]
    moves = offset.unflatten(1, (d, *kernel, 2))  # (N, d, kH, kW, 2, H', W')
    outside = []
    for axis in range(2):
        tap = torch.arange(kernel[axis], device=offset.device)[:, None] * dilations[axis]
        place = tap + torch.arange(size[axis], device=offset.device) * strides[axis] - pads[axis]  # (k, H' or W')
        place = place[:, None, :, None] if axis == 0 else place[None, :, None, :]  # (kH, 1, H', 1) or (1, kW, 1, W')
        outside.append(place + moves[:, :, :, :, axis] == -1)
    return torch.stack(outside, dim=4).view_as(offset)


def _read_flat(
    offset: Tensor, mask: Tensor, weight: Tensor, output: Tensor, geometry: _Geometry
) -> tuple[Tensor, Tensor]:
    """Offset and mask of the output's size: the first values of each sample, row by row, where they have more."""
    points = geometry.deform_groups * weight.shape[2] * weight.shape[3]
    return tuple(
        _first_values(values, (channels, *output.shape[2:]))
        for values, channels in ((offset, 2 * points), (mask, points))
    )


def _first_values(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    needed = math.prod(shape)
    if values.shape[1:] == shape or math.prod(values.shape[1:]) < needed:  # too few: torchvision says so
        return values
    return values.flatten(1)[:, :needed].unflatten(1, shape)


def _write_flat(target: Tensor, gradient: Tensor) -> None:
    """Put the gradient where :func:`_read_flat` has read; the rest gets none."""
    rest = math.prod(target.shape[1:]) - math.prod(gradient.shape[1:])
    target.copy_(F.pad(gradient.flatten(1), (0, rest)).view(target.shape))


def _complete(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor | None, bias: Tensor | None) -> list[Tensor]:
    """torchvision's operators want a tensor for what is absent too."""
    mask = input.new_zeros(input.size(0), 1) if mask is None else mask
    bias = input.new_zeros(weight.size(0)) if bias is None else bias
    return computable(input, weight, offset, mask, bias)
