"""Weights of a file into one of timm's models of ours: backbone, the classifier where it fits, and a line about both."""

from pathlib import Path
from typing import TYPE_CHECKING

from mmengine.logging import print_log
from torch import Tensor

from csan_mm.checkpoint.files import load_file, strip_prefixes
from csan_mm.checkpoint.pretrained import Pretrained, detect_source

if TYPE_CHECKING:
    from csan_mm.timm.model import TimmModel

#: Names of the classifier in the files there are: timm's Swin and Hiera and ours, timm's ViT and the authors', CBT's.
CLASSIFIERS = ("head.fc", "head", "mlp_head.1")
#: Share of the names that must fit.
MIN_MATCH = 0.95


def rest_of(weights: dict[str, Tensor], model: "TimmModel") -> dict[str, Tensor]:
    """For timm's loader: put the backbone's weights into the model, and hand back the classifier's under the model's names.

    Raises:
        CheckpointError: The weights do not fit the backbone.
    """
    return _load("the pretrained weights", strip_prefixes(weights), model)


def load_into(model: "TimmModel", path: str | Path) -> None:
    """Load the backbone, and the classifier (MAViT's projection with it) where the file's has its shape.

    Raises:
        FileNotFoundError, CheckpointError: There is no such file, or it does not fit the backbone.
    """
    model.load_state_dict(_load(str(path), load_file(path), model), strict=False)


def _load(name: str, weights: dict[str, Tensor], model: "TimmModel") -> dict[str, Tensor]:
    own = {name for name in weights if name.startswith(("head.", "mlp_head.", "neck."))}
    body = {name: value for name, value in weights.items() if not (name in own and _is_ours(weights))}
    Pretrained(name, detect_source(model.backbone, body, MIN_MATCH), MIN_MATCH).load_into(model.backbone, body)
    state = classifier(model, weights)
    found = "with the classifier" if state else "without a classifier that fits"
    print_log(f"{name}: loaded {found}", logger="current")
    return state


def _is_ours(weights: dict[str, Tensor]) -> bool:
    """Whether a file was saved from such a model: our names of the backbone (``backbone.`` is stripped) beside the head."""
    return "head.fc.weight" in weights and not any(name.startswith("head.norm.") for name in weights)


def classifier(model: "TimmModel", weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The head's weights, and those of MAViT's projection, under the model's names; without those whose shapes differ."""
    found: dict[str, Tensor] = {}
    for name in CLASSIFIERS:
        if f"{name}.weight" in weights and model.num_classes:
            linear = {f"head.fc.{part}": weights[f"{name}.{part}"] for part in ("weight", "bias")}
            linear["head.fc.weight"] = linear["head.fc.weight"].flatten(1)  # MAViT's is a 1x1 convolution
            found |= _fitting(model, linear)
            break
    if model.neck is not None:
        parts = model.neck.state_dict()
        places = {part: f"neck.{part}" if f"neck.{part}" in weights else part for part in parts}
        if all(place in weights for place in places.values()):
            found |= _fitting(model, {f"neck.{part}": weights[place] for part, place in places.items()})
    return found


def _fitting(model: "TimmModel", state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights if all of them have the model's shapes, else none."""
    own = model.state_dict()
    return state if all(own[name].shape == value.shape for name, value in state.items()) else {}
