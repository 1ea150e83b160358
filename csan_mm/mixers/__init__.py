"""The papers' token mixers, one file each; all are called as ``mixer(x, grid=None, mask=None)`` on x (B, N, C)."""

from csan_mm.mixers.base import TokenMixer
from csan_mm.mixers.build import build_mixer
from csan_mm.mixers.cbsa import CBSA
from csan_mm.mixers.cbsa_adapted import AdaptedCBSA
from csan_mm.mixers.csan import CSaN
from csan_mm.mixers.linear import LinearAttention
from csan_mm.mixers.mala import MALA
from csan_mm.mixers.mssa import MSSA
from csan_mm.mixers.softmax import SoftmaxAttention
from csan_mm.mixers.tssa import TSSA

__all__ = [
    "CBSA",
    "MALA",
    "MSSA",
    "TSSA",
    "AdaptedCBSA",
    "CSaN",
    "LinearAttention",
    "SoftmaxAttention",
    "TokenMixer",
    "build_mixer",
]
