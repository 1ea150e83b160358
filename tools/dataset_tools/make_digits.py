"""Write the digits data set: python tools/dataset_tools/make_digits.py OUT [options]."""

from csan_mm.commands import run_script

if __name__ == "__main__":
    run_script("digits")
