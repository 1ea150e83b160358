"""Multi-scale deformable attention (Zhu et al., arXiv:2010.04159), as mmcv calls it on a GPU.

mmcv has a form in plain PyTorch, which its module takes on a CPU; here it answers the calls for the compiled one.
Shapes: value (B, sum of H_l W_l, heads, C), sampling_locations (B, Q, heads, levels, points, 2), attention_weights
(B, Q, heads, levels, points).
"""

import torch
from torch import Tensor

from csan_mm.ops.ext.dtypes import computable


def ms_deform_attn_forward(
    value: Tensor,
    spatial_shapes: Tensor,
    level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    im2col_step: int,
) -> Tensor:
    """The attended values, (B, Q, heads * C)."""
    return _attend(spatial_shapes, *computable(value, sampling_locations, attention_weights)).to(value)


def ms_deform_attn_backward(
    value: Tensor,
    spatial_shapes: Tensor,
    level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    grad_output: Tensor,
    grad_value: Tensor,
    grad_sampling_loc: Tensor,
    grad_attn_weight: Tensor,
    im2col_step: int,
) -> None:
    """Set the three gradients; the forward pass is run again for it."""
    inputs = [t.requires_grad_() for t in computable(value, sampling_locations, attention_weights)]
    with torch.enable_grad():
        output = _attend(spatial_shapes, *inputs)
    gradients = torch.autograd.grad(output, inputs, grad_output.to(output))
    for target, gradient in zip((grad_value, grad_sampling_loc, grad_attn_weight), gradients):
        target.copy_(gradient)


def _attend(spatial_shapes: Tensor, value: Tensor, sampling_locations: Tensor, attention_weights: Tensor) -> Tensor:
    from mmcv.ops.multi_scale_deform_attn import multi_scale_deformable_attn_pytorch

    return multi_scale_deformable_attn_pytorch(value, spatial_shapes, sampling_locations, attention_weights)
