"""Settings of a network as they leave the machine they were written on."""

from typing import Any


def without_init_cfg(settings: Any) -> Any:
    """Settings without every ``init_cfg`` in them: it names files of the machine a network was trained on."""
    if isinstance(settings, dict):
        return {name: without_init_cfg(value) for name, value in settings.items() if name != "init_cfg"}
    if isinstance(settings, (list, tuple)):
        return type(settings)(without_init_cfg(value) for value in settings)
    return settings
