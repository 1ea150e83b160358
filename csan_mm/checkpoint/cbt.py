"""CBSA checkpoints: classifiers (CBT, and its CRATE and ToST twins), and segmentation models (a ViT and the CBT decoder)."""

import re

from torch import Tensor

from csan_mm.checkpoint import vit

StateDict = dict[str, Tensor]

_CLASSIFIER_NAMES = (
    (re.compile(r"^to_patch_embedding\."), "patch_embed."),
    (re.compile(r"^pos_embedding$"), "pos_embed"),
    (re.compile(r"^transformer\.layers\.(\d+)\.0\.norm\."), r"blocks.\1.norm1."),
    (re.compile(r"^transformer\.layers\.(\d+)\.0\.fn\.qkv\."), r"blocks.\1.attn.proj."),
    (re.compile(r"^transformer\.layers\.(\d+)\.0\.fn\.to_out\.0\."), r"blocks.\1.attn.to_out."),
    (re.compile(r"^transformer\.layers\.(\d+)\.0\.fn\."), r"blocks.\1.attn."),
    (re.compile(r"^transformer\.layers\.(\d+)\.1\.norm\."), r"blocks.\1.norm2."),
    (re.compile(r"^transformer\.layers\.(\d+)\.1\.fn\."), r"blocks.\1.ista."),
    (re.compile(r"^mlp_head\.0\."), "norm."),
    (re.compile(r"^mlp_head\.1\."), "head.fc."),
)
_DECODER_NAMES = (
    (re.compile(r"^net\.layers\.(\d+)\.norm\."), r"layers.\1.norm."),
    (re.compile(r"^net\.layers\.(\d+)\.fn\.to_out\.0\."), r"layers.\1.attn.to_out."),
    (re.compile(r"^net\.layers\.(\d+)\.fn\."), r"layers.\1.attn."),
)


def is_cbt(state: StateDict) -> bool:
    """The authors' classifiers: their attention and ISTA stand in ``transformer.layers.i.0`` and ``.1``."""
    return "transformer.layers.0.1.fn.weight" in state


def is_segmenter(state: StateDict) -> bool:
    """The authors' segmentation models."""
    return "decoder.cls_emb" in state and "encoder.pos_embed" in state


def from_cbt(state: StateDict) -> StateDict:
    """The classifier's backbone. The head's LayerNorm is the backbone's final norm."""
    return {name: value for name, value in _classifier(state).items() if not name.startswith("head.")}


def head_from_cbt(state: StateDict) -> StateDict:
    """The classifier's linear layer under the names of mmpretrain's LinearClsHead."""
    return _within(_classifier(state), "head.")


def from_segmenter(state: StateDict) -> StateDict:
    """The encoder, a ViT in timm's names."""
    return vit.from_timm(_within(state, "encoder."))


def head_from_segmenter(state: StateDict) -> StateDict:
    """The decoder, under the names of :class:`csan_mm.CBTHead`."""
    return _renamed(_within(state, "decoder."), _DECODER_NAMES)


def _classifier(state: StateDict) -> StateDict:
    """All of a classifier in our names. The temperatures of TSSA are (heads, 1) here."""
    state = _renamed(state, _CLASSIFIER_NAMES)
    return {name: value.reshape(-1, 1) if name.endswith(".attn.temp") else value for name, value in state.items()}


def _within(state: StateDict, prefix: str) -> StateDict:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _renamed(state: StateDict, names: tuple[tuple[re.Pattern[str], str], ...]) -> StateDict:
    return {_rename(name, names): value for name, value in state.items()}


def _rename(name: str, names: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    """By the first pattern that fits; else it stays."""
    return next((pattern.sub(ours, name) for pattern, ours in names if pattern.match(name)), name)
