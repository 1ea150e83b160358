"""One file per macro-architecture; importing registers them."""

from csan_mm.backbones.swin import SwinCSaN

__all__ = ["SwinCSaN"]
