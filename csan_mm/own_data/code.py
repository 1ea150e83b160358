"""Plain data as the Python code of a config, in OpenMMLab's way of writing: ``dict(type="Resize", ...)``."""

import json
from collections.abc import Mapping
from typing import Any


class Variable(str):
    """The name of a variable of the config, written without quotes."""


def code(value: Any) -> str:
    """A value as Python code, on one line."""
    if isinstance(value, Variable):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and key.isidentifier() for key in value):
            return f"dict({', '.join(f'{key}={code(entry)}' for key, entry in value.items())})"
        return "{" + ", ".join(f"{code(key)}: {code(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(code, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(code, value))}]"
    return repr(value)


def steps(name: str, values: list[Any]) -> list[str]:
    """Lines that set a variable to a list, an entry a line."""
    return [f"{name} = [", *(f"    {code(value)}," for value in values), "]"]
