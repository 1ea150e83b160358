"""Write a checkpoint for others: python tools/misc/publish_model.py CHECKPOINT OUT.pth."""

from csan_mm.commands import run_script

if __name__ == "__main__":
    run_script("publish")
