"""The operators ``mmcv._ext`` gets, by the names mmcv asks for."""

from collections.abc import Callable
from typing import Any

from csan_mm.ops.ext import bbox_overlaps, deform_conv, focal_loss, info, ms_deform_attn, nms, roi_align

OPERATORS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        bbox_overlaps.bbox_overlaps,
        nms.nms,
        nms.softnms,
        roi_align.roi_align_forward,
        roi_align.roi_align_backward,
        focal_loss.sigmoid_focal_loss_forward,
        focal_loss.sigmoid_focal_loss_backward,
        focal_loss.softmax_focal_loss_forward,
        focal_loss.softmax_focal_loss_backward,
        deform_conv.deform_conv_forward,
        deform_conv.deform_conv_backward_input,
        deform_conv.deform_conv_backward_parameters,
        deform_conv.modulated_deform_conv_forward,
        deform_conv.modulated_deform_conv_backward,
        ms_deform_attn.ms_deform_attn_forward,
        ms_deform_attn.ms_deform_attn_backward,
        info.get_compiler_version,
        info.get_compiling_cuda_version,
    )
}
