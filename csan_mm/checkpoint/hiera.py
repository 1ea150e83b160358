"""Hiera checkpoints: the CSaN authors', timm's, and Meta's."""

import re

from torch import Tensor

from csan_mm.checkpoint.vit import has_stages

StateDict = dict[str, Tensor]

_BODY = re.compile(r"(patch_embed|blocks|norm\d*)\.|(pos_embed|pos_embed_win)$")


def is_csan(state: StateDict) -> bool:
    """The authors' Hiera has CSaN's parameters."""
    return has_stages(state) and "blocks.0.attn.temp.weight" in state


def is_timm(state: StateDict) -> bool:
    """timm's Hiera: the last norm is part of the head."""
    return _is_plain(state) and not is_meta(state)


def is_meta(state: StateDict) -> bool:
    """Meta's Hiera: ``norm`` or ``encoder_norm`` (masked auto-encoders) and ``head.projection``."""
    theirs = ("norm.weight", "encoder_norm.weight", "head.projection.weight", "pos_embed_abs")
    return _is_plain(state) and any(name in state for name in theirs)


def from_timm(state: StateDict) -> StateDict:
    """The authors' and timm's files: ``head.norm`` stands behind the last stage."""
    return _body({re.sub(r"^head\.norm\.", "norm.", name): value for name, value in state.items()})


def from_meta(state: StateDict) -> StateDict:
    """Meta's files: ``encoder_norm`` or ``norm`` behind the last stage, ``pos_embed_abs`` beside ``pos_embed_win``."""
    renamed = {re.sub(r"^encoder_norm\.", "norm.", name): value for name, value in state.items()}
    if "pos_embed_abs" in renamed:
        renamed["pos_embed"] = renamed.pop("pos_embed_abs")
    return _body(renamed)


def _is_plain(state: StateDict) -> bool:
    return has_stages(state) and "blocks.0.attn.qkv.weight" in state and not is_csan(state)


def _body(state: StateDict) -> StateDict:
    """Without heads and decoders; the last norm gets the number of its stage, one more than widths change."""
    last = sum(re.match(r"blocks\.\d+\.proj\.weight", name) is not None for name in state)
    body = {name: value for name, value in state.items() if _BODY.match(name)}
    return {re.sub(r"^norm\.", f"norm{last}.", name): value for name, value in body.items()}
