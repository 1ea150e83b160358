"""A validation split where the data have none: the same images each time, and as good as random."""

from collections.abc import Sequence
from hashlib import sha256

from csan_mm.common.errors import UserError

#: The share of images that validate; ours.
SHARE = 0.2


def held_out(names: Sequence[str], annotated: Sequence[bool], source: str) -> set[str]:
    """The names that validate: a fifth of the images with annotations, and a fifth of those without.

    They are the first by the SHA-256 of their names, so that the choice depends neither on the machine nor on the order, and
    an image keeps its place when others are added, but for a few at the border.

    Args:
        names: Of the images, each once.
        annotated: Whether an image has something to learn from.
        source: Where they come from, for the message.

    Raises:
        UserError: Fewer than two images with annotations.
    """
    if sum(annotated) < 2:
        raise UserError(f"{source} has {sum(annotated)} image with annotations: training and validation need one each")
    groups = ([name for name, flag in zip(names, annotated) if flag is kind] for kind in (True, False))
    chosen: set[str] = set()
    for group, least in zip(groups, (1, 0)):
        ordered = sorted(group, key=lambda name: sha256(name.encode()).hexdigest())
        chosen.update(ordered[: max(least, round(SHARE * len(ordered)))])
    return chosen
