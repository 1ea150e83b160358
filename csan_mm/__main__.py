"""``python -m csan_mm doctor | preflight | train | test``."""

import runpy
import sys
from pathlib import Path

USAGE = """usage: python -m csan_mm COMMAND ...

  doctor [--json]                    what is wrong with the installation, and the command that mends it
  preflight CONFIG [--json]          what is wrong with a config's data, before any training
  train CONFIG [options]             tools/train.py
  test CONFIG CHECKPOINT [options]   tools/test.py

python -m csan_mm COMMAND -h lists the options."""


def main(arguments: list[str]) -> int:
    """Run a command.

    Args:
        arguments: The command line behind ``python -m csan_mm``.

    Returns:
        The exit status.
    """
    name, *rest = arguments or [""]
    if name in ("train", "test"):
        return run_tool(f"{name}.py", rest)
    if name == "doctor":
        from csan_mm.doctor.command import main as doctor

        return doctor(rest)
    if name == "preflight":
        from csan_mm.preflight.command import main as preflight

        return preflight(rest)
    wanted = name in ("-h", "--help")
    (sys.stdout if wanted else sys.stderr).write(USAGE + "\n")
    return 0 if wanted else 2


def run_tool(script: str, arguments: list[str]) -> int:
    """Run a script of tools/ as if it had been called by its path.

    Args:
        script: Its file name.
        arguments: Its command line.
    """
    path = tools_folder() / script
    sys.argv = [str(path), *arguments]
    sys.path[0] = str(path.parent)
    runpy.run_path(str(path), run_name="__main__")
    return 0


def tools_folder() -> Path:
    """Where the scripts are: in the package when it came as a wheel, else in the source tree around it.

    Raises:
        FileNotFoundError: In neither.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / ".mim" / "tools", package.parent / "tools"):
        if (folder / "train.py").is_file():
            return folder
    raise FileNotFoundError(f"no tools beside {package}: install csan_mm again, from a wheel or with pip install -e")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
