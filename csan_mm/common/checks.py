"""Checks of arguments, made once at the border: each raises an ArgumentError that names the argument, and returns the value."""

import math
import os
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from csan_mm.common.errors import ArgumentError


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise an ArgumentError that names the argument unless ``value`` is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(f"{name}={value!r} is unknown: take one of {', '.join(choices)}")


def is_int(value: Any) -> bool:
    """Whether it is a whole number, numpy's kinds among them; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_int(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number from ``least`` up to ``most`` (``None``: any)."""
    if not is_int(value) or value < least or (most is not None and value > most):
        end = f" up to {most}" if most is not None else " up"
        raise ArgumentError(f"{name}={value!r} is out of range: take a whole number from {least}{end}")
    return int(value)


def check_number(
    name: str,
    value: Any,
    least: float | None = None,
    above: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> float:
    """A finite number: from ``least``, or above ``above``; below ``below``, or up to ``most``, where they are given."""
    number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    inside = number and (least is None or value >= least) and (above is None or value > above)
    if not (inside and (below is None or value < below) and (most is None or value <= most)):
        limits = [f"from {least:g}" if least is not None else "", f"above {above:g}" if above is not None else ""]
        limits += [f"below {below:g}" if below is not None else "", f"up to {most:g}" if most is not None else ""]
        wanted = " ".join(["take a number", *filter(None, limits)])
        raise ArgumentError(f"{name}={value!r} is invalid: {wanted}")
    return float(value)


def check_bool(name: str, value: Any, optional: bool = False) -> bool | None:
    """True or False, or ``None`` where that is allowed."""
    if not isinstance(value, bool) and not (optional and value is None):
        raise ArgumentError(f"{name}={value!r} is invalid: take True or False{', or None' if optional else ''}")
    return value


def check_size(name: str, value: Any) -> tuple[int, int]:
    """(H, W) from one side or two, each a whole number from 1 up."""
    sides = (value, value) if is_int(value) else value
    if (
        not isinstance(sides, Sequence)
        or isinstance(sides, str)
        or len(sides) != 2
        or not all(is_int(side) and side > 0 for side in sides)
    ):
        raise ArgumentError(f"{name}={value!r} is not a size: take one whole number from 1 up, or two: (height, width)")
    return int(sides[0]), int(sides[1])


def check_cfg(name: str, value: Any, optional: bool = True) -> None:
    """A dict with ``type``, as configs have them, or ``None`` where that is allowed."""
    if value is None and optional:
        return
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), (str, type)):
        raise ArgumentError(
            f"{name}={value!r} cannot be built: take a dict with `type`{', or None' if optional else ''}"
        )


def check_path(name: str, value: Any) -> None:
    """The path or address of a file."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise ArgumentError(f"{name}={value!r} is not a file: take its path")


def check_odd(name: str, value: Any) -> None:
    """An odd whole number from 1 up, for a kernel that has a middle."""
    if check_int(name, value, 1) % 2 == 0:
        raise ArgumentError(f"{name}={value!r} is even: take an odd number, whose middle cell is the output's")
