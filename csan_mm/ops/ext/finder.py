"""The import hook: who answers when mmcv asks for its compiled extension."""

import functools
import logging
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NoReturn

EXTENSION = "mmcv._ext"

#: What may have asked mmcv for operators before csan_mm was imported, and put None or a refusal in their place.
LIBRARIES = ("mmdet", "mmseg", "mmpretrain")

CURE = (
    "Install an mmcv with compiled operators: "
    "`pip uninstall -y onedl-mmcv && mim install onedl-mmcv` (the onedl line) or "
    "`pip uninstall -y mmcv mmcv-lite && mim install 'mmcv>=2.1,<2.2'` (the openmmlab line)."
)


class StandInFinder(MetaPathFinder, Loader):
    """Finds and fills ``mmcv._ext``; knows no other module.

    torchvision and the operators are imported when mmcv asks for the module, not before.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answer for ``mmcv._ext`` alone; Python asks after all finders that know files."""
        if fullname != EXTENSION:
            return None
        return ModuleSpec(fullname, self, origin="csan_mm.ops.ext")

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the making of an empty module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the served operators into the module, and a refusal behind every other name."""
        from csan_mm.ops.ext.served import OPERATORS

        vars(module).update(OPERATORS, __getattr__=_refusal)
        _say_so()


def install() -> None:
    """Let csan_mm stand in for ``mmcv._ext`` where no compiled one exists. Calling it again changes nothing."""
    if any(isinstance(finder, StandInFinder) for finder in sys.meta_path):
        return
    sys.meta_path.append(StandInFinder())
    if any(library in sys.modules for library in LIBRARIES) and is_stand_in():
        from csan_mm.ops.ext.late import serve_imported

        serve_imported(LIBRARIES)


def is_stand_in() -> bool:
    """Tell whether mmcv's operators come from here because no compiled ones exist. Imports mmcv, but not its operators.

    Raises:
        ModuleNotFoundError: mmcv is not installed.
    """
    spec = find_spec(EXTENSION)
    return spec is not None and isinstance(spec.loader, StandInFinder)


def _refusal(name: str) -> Any:
    """The module's ``__getattr__``: mmcv asks for all its operators by name at import, and may have them; not call them."""
    if name.startswith("_"):
        raise AttributeError(f"module {EXTENSION!r} has no attribute {name!r}")
    return functools.partial(_refuse, name)


def _refuse(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(
        f"mmcv's compiled operator {name!r} is missing, and csan_mm does not serve it from torchvision. {CURE}"
    )


def _say_so() -> None:
    from mmengine.logging import print_log  # mmcv, which is importing us, needs mmengine

    # The process group does not exist yet, so that mmengine's logger takes every process for the first one.
    ranks = (os.environ.get(name, "0") for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"))
    if all(rank == "0" for rank in ranks):
        print_log(
            "mmcv has no compiled operators: csan_mm serves nms, soft_nms, bbox_overlaps, RoIAlign, focal losses, deformable "
            "convolution and attention from torchvision and PyTorch; any other one raises NotImplementedError",
            logger="current",
            level=logging.INFO,
        )
