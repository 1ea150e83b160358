"""Variants of a network by name: what a name stands for, and which name belongs to the dims of a file."""

from collections.abc import Mapping, Sequence
from typing import Any

from csan_mm.common.checks import is_int
from csan_mm.common.errors import ArgumentError

#: Short names of variants, as in mmpretrain.
SHORT_NAMES = {
    "n": "min",
    "ts": "tiny-slim",
    "t": "tiny",
    "tp": "tiny-plus",
    "s": "small",
    "bs": "base-slim",
    "b": "base",
    "bp": "base-plus",
    "l": "large",
}


def resolve_arch(
    arch: str | dict[str, Any], archs: dict[str, dict[str, Any]], optional: Sequence[str] = ()
) -> dict[str, Any]:
    """The dims of a variant.

    Args:
        arch: A name in ``archs``, its short name, or a dict with the same keys.
        archs: The named variants; all rows have the same keys.
        optional: Keys that a dict may leave out.

    Raises:
        ValueError: Unknown name, a dict with missing or unknown keys, or values that are not a sizes.
    """
    keys = set(next(iter(archs.values())))
    if isinstance(arch, str):
        name = SHORT_NAMES.get(arch.lower(), arch.lower())
        if name not in archs:
            raise ArgumentError(
                f"arch={arch!r} is unknown: take one of {', '.join(archs)}, or a dict with {', '.join(sorted(keys))}"
            )
        return dict(archs[name])
    if not isinstance(arch, Mapping):
        raise ArgumentError(
            f"arch={arch!r} is not a variant: take one of {', '.join(archs)}, or a dict with {', '.join(sorted(keys))}"
        )
    missing, unknown = keys - set(arch) - set(optional), set(arch) - keys - set(optional)
    if missing or unknown:
        raise ArgumentError(
            f"arch={arch!r} as a dict must have exactly {', '.join(sorted(keys))}"
            + (f"; missing: {', '.join(sorted(missing))}" if missing else "")
            + (f"; unknown: {', '.join(sorted(unknown))}" if unknown else "")
        )
    example = next(iter(archs.values()))
    for key in keys & {"embed_dims", "depth", "depths", "num_heads"}:
        per_stage = isinstance(example[key], Sequence)
        values = arch[key] if isinstance(arch[key], Sequence) else [arch[key]]
        if (
            per_stage != isinstance(arch[key], Sequence)
            or not all(is_int(value) and value > 0 for value in values)
            or not values
        ):
            wanted = "whole numbers from 1 up, one per stage" if per_stage else "one whole number from 1 up"
            raise ArgumentError(f"arch: {key}={arch[key]!r} is invalid: take {wanted}, such as {example[key]}")
    return dict(arch)


def with_heads(dims: dict[str, Any], heads: int | Sequence[int] | None) -> dict[str, Any]:
    """A variant's dims with other numbers of heads.

    Args:
        dims: Of :func:`resolve_arch`.
        heads: One number: that of the first stage, which each further one doubles. A sequence: one number per stage.
            ``None``: the variant's own.

    Raises:
        ValueError: A sequence where the variant takes one number, or one of another length.
    """
    if heads is None:
        return dims
    per_stage = isinstance(dims["num_heads"], Sequence)
    if per_stage and is_int(heads):
        heads = [heads * 2**i for i in range(len(dims["depths"]))]
    wanted = f"one number, or one per stage: {len(dims['depths'])}" if per_stage else "one number"
    if is_int(heads) == per_stage or (per_stage and len(heads) != len(dims["depths"])):
        raise ArgumentError(f"heads={heads!r} does not fit this backbone: take {wanted}")
    return {**dims, "num_heads": tuple(heads) if per_stage else heads}


def name_of(dims: Mapping[str, Any], archs: dict[str, dict[str, Any]]) -> str:
    """The named variants that have these dims, as one would write them; a dict where none has.

    Args:
        dims: Some of a variant's dims, such as those that can be read from a file. Numbers of heads, for one, cannot.
        archs: The named variants.
    """
    names = [name for name, known in archs.items() if all(known[key] == value for key, value in dims.items())]
    own = ", ".join(f"{key}={value}" for key, value in dims.items())
    rest = ", ..." if set(dims) < set(next(iter(archs.values()))) else ""
    return " or ".join(map(repr, names)) or f"dict({own}{rest})"
