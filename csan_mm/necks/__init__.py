"""Necks that mmdet, mmseg and mmpretrain do not have; importing registers them."""

from csan_mm.necks.mavit_neck import MAViTNeck
from csan_mm.necks.simple_fpn import SimpleFPN

__all__ = ["MAViTNeck", "SimpleFPN"]
