"""What a person who wrote an argument that a class does not take may have meant."""

import difflib
import inspect
from collections.abc import Callable
from typing import Any

#: timm's arguments -> ours, or what to do in their place.
TIMM_NAMES = {
    "in_chans": "in_channels",
    "drop_path": "drop_path_rate",
    "embed_dim": "arch",
    "dims": "arch",
    "init_values": "layer_scale",
    "class_token": "with_cls_token",
    "reg_tokens": "num_registers",
    "grad_checkpointing": "with_cp",
}
TIMM_WORDS = {
    "features_only": "leave it out: a backbone always returns its maps, those of out_indices",
    "output_stride": "leave it out: the strides are fixed, and out_indices chooses among them",
    "num_classes": "leave it out: a backbone has no classifier",
    "global_pool": "leave it out: pooling is the neck's or the head's, or out_type's where the backbone has one",
    "checkpoint_path": "give the file as init_cfg=dict(type='csan_mm.Pretrained', checkpoint=PATH)",
}


def arguments_of(function: Callable[..., Any]) -> list[str]:
    """Names of the arguments that a class or function takes."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [name for name, argument in inspect.signature(function).parameters.items() if argument.kind in kinds]


def near_arguments(function: Callable[..., Any], name: str) -> str:
    """Advice for an unknown argument: timm's habits by their meaning, a misspelt name by its likeness, else the whole list."""
    known = arguments_of(function)
    if TIMM_NAMES.get(name) in known:
        return f"did you mean {TIMM_NAMES[name]}?"
    if name in TIMM_WORDS:
        return TIMM_WORDS[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    return f"did you mean {', '.join(near)}?" if near else f"it takes {', '.join(known)}"
