"""The shipped configs from anywhere: ``_base_ = 'csan_mm::_base_/schedules/adamw_1x.py'``, and a shipped config by its name.

mmengine reads ``package::path`` for a fixed list of packages, below the package's .mim folder. csan_mm is not in that list,
and a source tree has no .mim, since mim would then find every config name twice. So importing csan_mm teaches
``Config`` this one prefix.
"""

from difflib import get_close_matches
from pathlib import Path

from mmengine.config import Config

from csan_mm.common.errors import UserError
from csan_mm.common.install import tools_folder

PREFIX = "csan_mm::"


def configs_folder() -> Path:
    """Where the shipped configs are: in the package when it came as a wheel, else in the source tree."""
    return tools_folder().parent / "configs"


def shipped_configs() -> list[Path]:
    """All shipped configs that can be trained, relative to their folder, sorted."""
    folder = configs_folder()
    return sorted(path.relative_to(folder) for path in folder.glob("*/*.py") if path.parent.name != "_base_")


def shipped_path(name: str) -> Path:
    """The file that ``csan_mm::PATH`` means.

    Raises:
        UserError: There is none; the message lists the near ones.
    """
    folder = configs_folder()
    path = folder / name.removeprefix(PREFIX)
    if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
        return path
    known = [file.relative_to(folder).as_posix() for file in folder.rglob("*.py")]
    near = get_close_matches(name.removeprefix(PREFIX), known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(PREFIX + file for file in near)}?" if near else "`csan_mm configs` lists them"
    raise UserError(f"{name}: csan_mm ships no such config: {hint}")


def resolve_config(name: str) -> str:
    """The path of a config that is given by path, as ``csan_mm::PATH``, or by the file name of a shipped one."""
    if name.startswith(PREFIX):
        return str(shipped_path(name))
    if not Path(name).exists() and "/" not in name:
        found = [path for path in shipped_configs() if name in (path.name, path.stem)]
        if found:
            return str(configs_folder() / found[0])
    return name


def serve_package_configs() -> None:
    """Let every ``Config`` resolve ``csan_mm::``; the types in these bases keep the scope of the config that inherits them."""
    known = Config._get_cfg_path
    if getattr(known, "serves_csan_mm", False):
        return

    def get_cfg_path(cfg_path: str, filename: str) -> tuple[str, str | None]:
        if cfg_path.startswith(PREFIX):
            return str(shipped_path(cfg_path)), None
        return known(cfg_path, filename)

    get_cfg_path.serves_csan_mm = True
    Config._get_cfg_path = staticmethod(get_cfg_path)
