"""ViT checkpoints: the CSaN authors' and timm's, which have our names, and mmpretrain's. Heads and distillation tokens go."""

import re

from torch import Tensor

StateDict = dict[str, Tensor]

#: CSaN's own parameters, which no plain network's file has.
CSAN_OWN = (r".*\.attn2?\.(u|reduce|act|ka|kv|magk|temp)\.",)

#: Files of mean-pooling classifiers norm the pooled features (``fc_norm``) and have no norm behind the last block.
MEAN_POOLED = r"norm\."

_BODY = re.compile(r"(patch_embed|blocks|norm)\.|(cls_token|reg_token|pos_embed)$")

_OPENMMLAB_NAMES = (
    (re.compile(r"^patch_embed\.projection\."), "patch_embed.proj."),
    (re.compile(r"^(?:ln1|final_norm)\."), "norm."),
    (re.compile(r"^layers\."), "blocks."),
    (re.compile(r"\.ln(\d)\."), r".norm\1."),
    (re.compile(r"\.ffn\.layers\.0\.0\."), ".mlp.fc1."),
    (re.compile(r"\.ffn\.layers\.1\."), ".mlp.fc2."),
    (re.compile(r"\.(?:attn|ffn)\.gamma(\d)\.weight$"), r".ls\1.gamma"),
)


def is_csan(state: StateDict) -> bool:
    """The authors' ViT has CSaN's parameters."""
    return _is_vit(state) and "blocks.0.attn.temp.weight" in state


def is_plain(state: StateDict) -> bool:
    """timm's ViT."""
    return _is_vit(state) and "blocks.0.attn.temp.weight" not in state


def is_openmmlab(state: StateDict) -> bool:
    """mmpretrain's VisionTransformer."""
    return "layers.0.ln1.weight" in state and "layers.0.attn.qkv.weight" in state


def from_timm(state: StateDict) -> StateDict:
    """Either file: the body under its own names."""
    return {name: value for name, value in state.items() if _BODY.match(name)}


def head_from_timm(state: StateDict) -> StateDict:
    """The linear layer of either file's classifier under the names of mmpretrain's LinearClsHead."""
    return {name.replace("head.", "fc.", 1): state[name] for name in ("head.weight", "head.bias") if name in state}


def from_openmmlab(state: StateDict) -> StateDict:
    """mmpretrain's file: other names."""
    renamed = {}
    for name, value in state.items():
        for pattern, ours in _OPENMMLAB_NAMES:
            name = pattern.sub(ours, name)
        renamed[name] = value
    return from_timm(renamed)


def _is_vit(state: StateDict) -> bool:
    table = state.get("pos_embed")
    return (
        "blocks.0.attn.qkv.weight" in state
        and table is not None
        and "blocks.0.norm1.weight" in state
        and not has_stages(state)
    )


def has_stages(state: StateDict) -> bool:
    """Whether some block changes the width, as Hiera's do."""
    return any(re.match(r"blocks\.\d+\.proj\.weight", name) for name in state)
