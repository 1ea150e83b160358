"""Deformable convolution v1 (Dai et al., arXiv:1703.06211) and v2 (Zhu et al., arXiv:1811.11168), as mmcv calls them.

Shapes, with g groups, d deformable groups and a kernel of kH x kW: input (N, C, H, W), weight (O, C / g, kH, kW), offset
(N, 2 d kH kW, H', W') as y, x pairs, mask (N, d kH kW, H', W'), output (N, O, H', W').
The scratch tensors ``columns`` and ``ones`` and the batch split ``im2col_step`` are of no use to torchvision and stay untouched.
"""

from typing import NamedTuple

import torch
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
    by_input, by_weight, by_offset, by_mask, by_bias = _gradients(
        grad_output, input, weight, offset, mask, bias, geometry
    )
    grad_input.copy_(by_input)
    grad_weight.copy_(by_weight)
    grad_offset.copy_(by_offset)
    grad_mask.copy_(by_mask)
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
    return torch.ops.torchvision._deform_conv2d_backward(grad.contiguous(), *tensors, *geometry, mask is not None)


def _complete(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor | None, bias: Tensor | None) -> list[Tensor]:
    """torchvision's operators want a tensor for what is absent too."""
    mask = input.new_zeros(input.size(0), 1) if mask is None else mask
    bias = input.new_zeros(weight.size(0)) if bias is None else bias
    return computable(input, weight, offset, mask, bias)
