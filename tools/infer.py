"""Draw predictions on images: python tools/infer.py IMAGES --config CONFIG --checkpoint CHECKPOINT --out DIR."""

from csan_mm.commands import run_script

if __name__ == "__main__":
    run_script("infer")
