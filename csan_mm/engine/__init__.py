"""Training: hooks, and what the configs need beyond mmengine."""

from csan_mm.engine.load_check import LoadCheckHook

__all__ = ["LoadCheckHook"]
