"""MAViT checkpoints of the MALA authors: our names already, with a classification head that the backbone does not have."""

import re

from torch import Tensor

StateDict = dict[str, Tensor]

_BODY = re.compile(r"(patch_embed|layers)\.|norm\d+\.")


def is_mala(state: StateDict) -> bool:
    """Queries, keys, values and the gate of a block come from one convolution, which no other family has."""
    return "layers.0.blocks.0.attn.qkvo.weight" in state


def from_mala(state: StateDict) -> StateDict:
    """Without ``proj``, ``norm`` and ``head`` of the classifier."""
    return {name: value for name, value in state.items() if _BODY.match(name)}
