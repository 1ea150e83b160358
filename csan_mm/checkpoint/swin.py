"""Swin checkpoints: the CSaN authors', timm's, Microsoft's, and mmdet's / mmpretrain's.

They differ in where the down-sampling stands (start of a stage, or end of the one before), in the order in which it
concatenates 2x2 cells, and in names.
"""

import re

from torch import Tensor

StateDict = dict[str, Tensor]

#: CSaN's own parameters, which no plain network's file has.
CSAN_OWN = (r".*\.attn2?\.(u|reduce|act|ka|kv|magk|temp)\.", r".*\.posinfo2?\.")

_BODY = re.compile(r"(patch_embed|layers)\.|norm\d*\.")
_COMPUTED = re.compile(r"(relative_position_index|relative_coords_table|attn_mask)$")

_OPENMMLAB_NAMES = (
    (re.compile(r"^patch_embed\.projection\."), "patch_embed.proj."),
    (re.compile(r"^stages\."), "layers."),
    (re.compile(r"\.attn\.w_msa\."), ".attn."),
    (re.compile(r"\.ffn\.layers\.0\.0\."), ".mlp.fc1."),
    (re.compile(r"\.ffn\.layers\.1\."), ".mlp.fc2."),
)


def is_csan(state: StateDict) -> bool:
    """The authors' files have CSaN's parameters and the down-sampling at the start of a stage."""
    return "layers.0.blocks.0.attn.temp.weight" in state


def is_plain(state: StateDict) -> bool:
    """Microsoft's and timm's files: the same names but for the head, told apart by where the down-sampling stands."""
    return "layers.0.blocks.0.attn.relative_position_bias_table" in state and not is_csan(state)


def is_timm(state: StateDict) -> bool:
    """A plain file with the down-sampling at the start of a stage, or timm's name of the head."""
    later = any(name.startswith("layers.1.downsample.") for name in state)
    moved = later and not any(name.startswith("layers.0.downsample.") for name in state)
    return is_plain(state) and (moved or "head.fc.weight" in state)


def is_openmmlab(state: StateDict) -> bool:
    """mmdet's and mmpretrain's Swin."""
    return "stages.0.blocks.0.attn.w_msa.qkv.weight" in state


def from_csan(state: StateDict) -> StateDict:
    """The CSaN authors' Swin: our names but for the last norm."""
    return _number_last_norm(_body(state))


def from_plain(state: StateDict) -> StateDict:
    """Microsoft's and timm's Swin. Microsoft's and timm's older files have the down-sampling at the end of a stage."""
    return _number_last_norm(_downsample_first(_body(state)))


def from_openmmlab(state: StateDict) -> StateDict:
    """mmdet's and mmpretrain's Swin: other names, the down-sampling one stage earlier and its cells in another order."""
    renamed = {}
    for name, value in state.items():
        for pattern, ours in _OPENMMLAB_NAMES:
            name = pattern.sub(ours, name)
        if re.search(r"downsample\.(norm|reduction)\.", name):
            value = cells_from_unfold(value)
        renamed[name] = value
    return _downsample_first(_body(renamed))


def cells_from_unfold(value: Tensor) -> Tensor:
    """Re-order the 4C inputs of a patch merging from mmcv's unfolding to Swin's own concatenation.

    mmcv unfolds channel by channel, each as (row, column) of its 2x2 cells; Swin concatenates whole cells, columns outside:
    (..., C, 2 rows, 2 columns) -> (..., 2 columns, 2 rows, C).
    """
    cells = value.reshape(*value.shape[:-1], -1, 2, 2)
    return cells.transpose(-3, -1).reshape(value.shape)


def cells_to_unfold(value: Tensor) -> Tensor:
    """The inverse of :func:`cells_from_unfold`."""
    cells = value.reshape(*value.shape[:-1], 2, 2, -1)
    return cells.transpose(-3, -1).reshape(value.shape)


def _body(state: StateDict) -> StateDict:
    """Without the classification head and the buffers that follow from the window size."""
    return {name: value for name, value in state.items() if _BODY.match(name) and not _COMPUTED.search(name)}


def _downsample_first(state: StateDict) -> StateDict:
    """Move ``layers.i.downsample`` to stage i + 1 where a file has it in stage 0."""
    if not any(name.startswith("layers.0.downsample.") for name in state):
        return state
    pattern = re.compile(r"^layers\.(\d+)\.downsample\.")
    return {
        pattern.sub(lambda found: f"layers.{int(found[1]) + 1}.downsample.", name): value
        for name, value in state.items()
    }


def _number_last_norm(state: StateDict) -> StateDict:
    """``norm`` stands behind the last stage: our ``norm<index of that stage>``."""
    last = max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    return {re.sub(r"^norm\.", f"norm{last}.", name): value for name, value in state.items()}
