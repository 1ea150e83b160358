"""Write a trained model as ONNX or torch.export: python tools/export_model.py CONFIG CHECKPOINT OUT."""

from csan_mm.commands import run_script

if __name__ == "__main__":
    run_script("export-model")
