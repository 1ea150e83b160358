"""The pages of the reference: one per package of csan_mm, each public module with its docstring, classes and functions."""

import pkgutil
from pathlib import Path

import csan_mm

#: Package -> what its page is called; command line and helpers are not an interface.
PACKAGES = {
    "backbones": "Backbones",
    "mixers": "Mixers",
    "layers": "Layers",
    "necks": "Necks",
    "heads": "Heads",
    "checkpoint": "Checkpoints",
    "engine": "Training",
    "timm": "In timm",
    "analysis": "Analysis and diagnostics",
    "datasets": "Digits",
    "ops": "Kernels",
}


def write_pages(target: Path, pictures: dict[str, list[str]]) -> list[dict[str, str]]:
    """Write the pages to ``target``/api.

    Args:
        target: The site's folder of pages.
        pictures: Module -> pictures of what it builds, names of files in ``target``/api.

    Returns:
        The navigation's entries.
    """
    folder = target / "api"
    folder.mkdir(parents=True, exist_ok=True)
    entries = [{"By name": "api/zoo.md"}]
    (folder / "zoo.md").write_text("# By name\\n\\n::: csan_mm.zoo\\n".replace("\\n", "\n"))
    for package, title in PACKAGES.items():
        lines = [f"# {title}", ""]
        for module in modules(package):
            lines += [f"::: {module}", ""]
            lines += [line for name in pictures.get(module, []) for line in (f"![Architecture]({name})", "")]
        (folder / f"{package}.md").write_text("\n".join(lines), encoding="utf-8")
        entries.append({title: f"api/{package}.md"})
    return entries


def modules(package: str) -> list[str]:
    """The public modules of a package, without its subpackages."""
    folder = str(Path(csan_mm.__file__).parent / package)
    names = [found.name for found in pkgutil.iter_modules([folder]) if not found.ispkg]
    return [f"csan_mm.{package}.{name}" for name in names if not name.startswith("_")]
