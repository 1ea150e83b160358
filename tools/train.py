"""Train a detector, segmentor or classifier: python tools/train.py CONFIG [options]."""

from csan_mm.commands import run_script

if __name__ == "__main__":
    run_script("train")
