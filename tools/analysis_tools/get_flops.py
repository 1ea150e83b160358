"""Count multiply-accumulates: python tools/analysis_tools/get_flops.py CONFIG [--shape H W]."""

from csan_mm.commands import run_script

if __name__ == "__main__":
    run_script("flops")
