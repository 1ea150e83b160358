"""How csan_mm and what it needs are installed: commands by the packages' own names, and the folder of the scripts.

csan_mm itself is on no package index.

Standard library only: it answers where nothing else can be imported.
"""

from importlib import metadata
from pathlib import Path

PIP = "python -m pip"


def install_command(extra: str) -> str:
    """A command that installs the packages of one of csan_mm's extras, from any folder.

    Args:
        extra: 'onedl', 'openmmlab', 'digits', 'export' or 'test'.
    """
    try:
        wanted = metadata.requires("csan_mm") or []
    except metadata.PackageNotFoundError:  # a source tree that was not installed
        wanted = []
    ends = tuple(f"; extra == {quote}{extra}{quote}" for quote in "'\"")
    names = [entry.partition(";")[0].strip() for entry in wanted if entry.endswith(ends)]
    if not names:
        return f"{PIP} install '.[{extra}]' (in the folder that holds csan_mm's pyproject.toml)"
    return f"{PIP} install {' '.join(f'{name!r}' if set(name) & set('<>=!~[') else name for name in names)}"


def tools_folder() -> Path:
    """Where the scripts are: in the package when it came as a wheel, else in the source tree around it.

    Raises:
        FileNotFoundError: In neither.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / ".mim" / "tools", package.parent / "tools"):
        if (folder / "train.py").is_file():
            return folder
    raise FileNotFoundError(f"no tools beside {package}: install csan_mm again, from a wheel or with pip install -e")
