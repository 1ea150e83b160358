"""What stands behind tools/train.py, tools/test.py and ``python -m csan_mm``."""
