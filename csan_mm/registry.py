"""csan_mm's registries: children of mmengine's root ones, so that ``type='csan_mm.SwinCSaN'`` builds from any OpenMMLab scope."""

import difflib
from importlib import import_module
from typing import Any

from mmengine import registry as root
from mmengine.registry import Registry

SCOPE = "csan_mm"


class SuggestingRegistry(Registry):
    """A registry whose "not found" names the registered types that look like the wanted one."""

    def get(self, key: str) -> Any:
        """Find a type.

        Args:
            key: Its name, with or without a scope.

        Raises:
            KeyError: No registry in reach knows the name; the message lists the near ones.
            ImportError: It needs a package that is not installed.
        """
        found = super().get(key)
        if found is None:
            self._import_on_demand(key)
            found = super().get(key)
        if found is None:
            raise KeyError(self._not_found(key))
        return found

    def _import_on_demand(self, key: str) -> None:
        """Locations may leave types for the day they are asked for (a module's ``__getattr__``), as csan_mm.heads does."""
        for location in self._locations:
            getattr(import_module(location), key.split(".")[-1], None)

    def __contains__(self, key: str) -> bool:
        return super().get(key) is not None

    def _not_found(self, key: str) -> str:
        names = sorted(self.module_dict)
        by_lower = {name.lower(): name for name in names}
        near = difflib.get_close_matches(key.split(".")[-1].lower(), by_lower, n=3, cutoff=0.5)
        hint = (
            f"did you mean {', '.join(by_lower[name] for name in near)}?" if near else f"registered: {', '.join(names)}"
        )
        return f"{key} is not in the {self.scope}::{self.name} registry; {hint}"


def _child(name: str, parent: Registry | None, *locations: str) -> SuggestingRegistry:
    return SuggestingRegistry(name, parent=parent, scope=SCOPE, locations=list(locations))


MODELS = _child("model", root.MODELS, "csan_mm.backbones", "csan_mm.necks", "csan_mm.heads")
MIXERS = _child("mixer", None, "csan_mm.mixers")
WEIGHT_INITIALIZERS = _child("weight initializer", root.WEIGHT_INITIALIZERS, "csan_mm.checkpoint")
OPTIM_WRAPPER_CONSTRUCTORS = _child("optimizer wrapper constructor", root.OPTIM_WRAPPER_CONSTRUCTORS, "csan_mm.engine")
PARAM_SCHEDULERS = _child("parameter scheduler", root.PARAM_SCHEDULERS, "csan_mm.engine")
OPTIMIZERS = _child("optimizer", root.OPTIMIZERS, "csan_mm.engine")
HOOKS = _child("hook", root.HOOKS, "csan_mm.engine")
