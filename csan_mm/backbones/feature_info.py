"""The returned maps as timm lists them."""

from collections.abc import Sequence

from csan_mm.common.checks import is_int
from csan_mm.common.errors import ArgumentError

Row = dict[str, int | str]
Places = int | Sequence[int] | None


class FeatureInfo(list[Row]):
    """One row per returned map: ``num_chs`` (width), ``reduction`` (stride), ``index`` (level), ``module`` (what makes it).

    A list, with the methods of timm's FeatureInfo. Their ``idx`` is a place in this list, several of them, or ``None`` (default)
    for all; one place gives one value, else the answer is a list.

    Raises:
        ValueError: A place that is not in the list.
    """

    def channels(self, idx: Places = None) -> int | list[int]:
        """Widths."""
        return self._column("num_chs", idx)

    def reduction(self, idx: Places = None) -> int | list[int]:
        """Strides."""
        return self._column("reduction", idx)

    def module_name(self, idx: Places = None) -> str | list[str]:
        """Names of the modules that make the maps, as ``get_submodule`` takes them."""
        return self._column("module", idx)

    def get_dicts(self, idx: Places = None) -> Row | list[Row]:
        """Whole rows."""
        return self._column(None, idx)

    def _column(self, key: str | None, idx: Places) -> Row | int | str | list[Row] | list[int] | list[str]:
        places = range(len(self)) if idx is None else [idx] if is_int(idx) else idx
        wrong = [place for place in places if not is_int(place) or not -len(self) <= place < len(self)]
        if wrong:
            raise ArgumentError(
                f"idx={idx!r} is out of range: this backbone returns {len(self)} maps, take places from 0 to {len(self) - 1}"
            )
        found = [self[place] if key is None else self[place][key] for place in places]
        return found[0] if is_int(idx) else found
