"""For the site's docstrings: Sphinx's roles, which Python's own help shows as they are, become code."""

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|data|mod):`~?([^`]+)`")


class Roles(griffe.Extension):
    """:class:`X` -> `X` in every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value)
