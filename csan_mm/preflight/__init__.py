"""``python -m csan_mm preflight CONFIG``: what is wrong with the data, before any training."""
