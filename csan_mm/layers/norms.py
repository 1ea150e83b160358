"""Norms that configs name and no OpenMMLab package registers in every scope."""

from timm.layers import LayerNorm2d

from csan_mm.registry import MODELS

# LayerNorm over the channels of a map (B, C, H, W), ViTDet's norm: norm_cfg=dict(type='csan_mm.LN2d', eps=1e-6).
MODELS.register_module("LN2d", module=LayerNorm2d)
