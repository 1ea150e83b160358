"""One file per macro-architecture; importing registers them."""

from csan_mm.backbones.cbt import CBT
from csan_mm.backbones.hiera import HieraCSaN
from csan_mm.backbones.mavit import MAViT
from csan_mm.backbones.swin import SwinCSaN
from csan_mm.backbones.vit import ViTCSaN
from csan_mm.backbones.weightformer import WeightFormer

__all__ = ["CBT", "HieraCSaN", "MAViT", "SwinCSaN", "ViTCSaN", "WeightFormer"]
