"""``python -m csan_mm COMMAND``, the same as the console command ``csan_mm``."""

import sys

from csan_mm.commands import main

if __name__ == "__main__":
    sys.exit(main())
