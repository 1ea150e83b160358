"""WeightFormer checkpoints of the authors: our names already, with a classification head that the backbone does not have."""

import re

from torch import Tensor

StateDict = dict[str, Tensor]

#: What the published model lacks: gains of ``layer_scale``.
OURS = (r".*\.gain$",)

_BODY = re.compile(r"(patch_embed|init_norm|blocks|norm)\.")


def is_weightformer(state: StateDict) -> bool:
    """A norm behind the patch embedding and two linear layers in the blocks, which no other family has."""
    return "init_norm.weight" in state and "blocks.0.linear2.weight" in state


def from_weightformer(state: StateDict) -> StateDict:
    """Without ``head``. The 448-pixel B has the names and shapes of S."""
    return {name: value for name, value in state.items() if _BODY.match(name)}
