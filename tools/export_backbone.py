"""Write the backbone of a trained model: python tools/export_backbone.py CONFIG CHECKPOINT OUT."""

from csan_mm.commands import run_script

if __name__ == "__main__":
    run_script("export-backbone")
