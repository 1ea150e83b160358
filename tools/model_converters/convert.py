"""Convert an official checkpoint: python tools/model_converters/convert.py SRC DST [--source NAME]."""

from csan_mm.commands import run_script

if __name__ == "__main__":
    run_script("convert")
