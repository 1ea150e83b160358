"""Somebody else's script with csan_mm imported first, as ``csan_mm run SCRIPT ...`` starts it.

Scripts of mmdet, mmseg and mmpretrain import their library at once, and die where mmcv has no compiled operators. Importing
csan_mm before them puts the stand-in in place and registers our classes, so that they run as they are.
"""

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from csan_mm.common.errors import UserError


def main(arguments: Sequence[str]) -> int:
    """Run a script as ``python SCRIPT ARGUMENTS`` would, in this process.

    Args:
        arguments: The script's path and its own command line.

    Returns:
        The exit status: the script's own, or 2 where there is no such script. What it raises passes through.
    """
    try:
        script = find_script(arguments[0])
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    argv, path = sys.argv, list(sys.path)
    sys.argv = [str(script), *arguments[1:]]
    sys.path.insert(0, str(script.resolve().parent))  # scripts import what lies beside them
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as stop:
        return _status(stop.code)
    finally:
        sys.argv, sys.path[:] = argv, path
    return 0


def find_script(name: str) -> Path:
    """The script of this path; ``mmdet::analysis_tools/browse_dataset.py`` is one that the installed package brings along.

    Args:
        name: A path, or PACKAGE::PATH below the tools of mmdet, mmseg or mmpretrain, which pip installs in PACKAGE/.mim/tools.

    Raises:
        UserError: There is no such file.
    """
    package, separator, inside = name.partition("::")
    path = _package_tools(package) / inside if separator else Path(name)
    if not path.is_file():
        raise UserError(
            f"script {name} does not exist: give the path of a .py file, or mmdet::analysis_tools/browse_dataset.py for one "
            f"that an installed package brings along",
            exit_code=2,
        )
    return path


def _package_tools(package: str) -> Path:
    from importlib.util import find_spec

    spec = find_spec(package) if package.isidentifier() else None
    folders = (spec.submodule_search_locations if spec else None) or ["."]
    return Path(folders[0]) / ".mim" / "tools"


def _status(code: object) -> int:
    """As the interpreter does it: None is 0, and a text is printed and means 1."""
    if code is None or isinstance(code, int):
        return int(code or 0)
    sys.stderr.write(f"{code}\n")
    return 1
