"""Training: hooks, and what the configs need beyond mmengine."""

from csan_mm.engine.cpu_threads import CPUThreadsHook
from csan_mm.engine.dynamic_norms import DynamicNormHook
from csan_mm.engine.layer_decay import LayerDecayOptimWrapperConstructor
from csan_mm.engine.lion import Lion
from csan_mm.engine.load_check import LoadCheckHook
from csan_mm.engine.non_finite import NonFiniteHook
from csan_mm.engine.schedules import WarmupCosineLR
from csan_mm.engine.weight_decay import OptimWrapperConstructor

__all__ = [
    "CPUThreadsHook",
    "DynamicNormHook",
    "LayerDecayOptimWrapperConstructor",
    "Lion",
    "LoadCheckHook",
    "NonFiniteHook",
    "OptimWrapperConstructor",
    "WarmupCosineLR",
]
