"""Modules of OpenMMLab that were imported before csan_mm, and put None or a refusal where an operator of mmcv.ops was missing."""

import ast
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType


def serve_imported(libraries: Sequence[str]) -> list[str]:
    """Give every module that is imported already the operators it asks mmcv.ops for.

    A class that was derived from such a substitute keeps it; none can be, since the substitutes are functions and None.

    Args:
        libraries: The packages that are looked through.

    Returns:
        Which names were set, as ``mmdet.structures.mask.structures.roi_align``.
    """
    served = []
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] in libraries]:
        for source, name, local in _operators(module):
            operator = getattr(import_module(source), name)
            if vars(module).get(local) is not operator:
                setattr(module, local, operator)
                served.append(f"{module.__name__}.{local}")
    return served


def _operators(module: ModuleType) -> Iterator[tuple[str, str, str]]:
    """What a module imports from mmcv.ops: the module there, the name there, the name here."""
    file = getattr(module, "__file__", None)
    text = Path(file).read_text(encoding="utf-8") if file and file.endswith(".py") else ""
    if "mmcv.ops" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mmcv.ops"):
            for alias in node.names:
                yield node.module, alias.name, alias.asname or alias.name
