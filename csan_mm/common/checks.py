"""Checks of arguments, made once at the border: each raises an ArgumentError that names the argument."""

from collections.abc import Sequence
from typing import Any

from csan_mm.common.errors import ArgumentError


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise an ArgumentError that names the argument unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ArgumentError(f"{name}={value!r} is unknown: take one of {', '.join(choices)}")
