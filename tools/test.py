"""Evaluate a detector, segmentor or classifier: python tools/test.py CONFIG CHECKPOINT [options]."""

from csan_mm.commands import run_script

if __name__ == "__main__":
    run_script("test")
