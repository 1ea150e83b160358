"""The backbone of a trained classifier, detector or segmentor as a file of its own, and whole models ready to be published."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.registry import MODELS, DefaultScope
from torch import Tensor

from csan_mm.checkpoint.files import CheckpointError, checksum, read_weights, save_file
from csan_mm.version import __version__

SUFFIXES = (".safetensors", ".pth")


def export_backbone(
    checkpoint: str | os.PathLike[str], config: Config, out: str | os.PathLike[str], trust: bool = False
) -> list[Path]:
    """Write the backbone of a trained model alone, as .safetensors and as .pth.

    Metadata of both files: ``arch`` (the backbone's config as JSON), ``csan_mm_version``, ``source`` (the checkpoint's name), and
    ``sha256`` over the weights, which :func:`load_file` checks.

    Args:
        checkpoint: The model's file.
        config: The config it was trained with.
        out: The files' path without suffix; a suffix .safetensors or .pth is dropped.
        trust: Unpickle a file that cannot be read otherwise, which runs the code in it. Default: False.

    Returns:
        The two paths.

    Raises:
        FileNotFoundError: The checkpoint is missing.
        CheckpointError: It holds no backbone, or not the one of the config.
    """
    weights = backbone_weights(read_weights(checkpoint, trust)[0], checkpoint)
    arch = {name: value for name, value in config.model.backbone.to_dict().items() if name != "init_cfg"}
    _require_same_names(weights, arch, config, checkpoint)
    about = {"arch": json.dumps(arch), "csan_mm_version": __version__, "source": Path(checkpoint).name}
    stem = Path(out).with_suffix("") if Path(out).suffix in SUFFIXES else Path(out)
    paths = [stem.with_name(stem.name + suffix) for suffix in SUFFIXES]
    for path in paths:
        save_file(weights, path, about)
    return paths


def backbone_weights(weights: Mapping[str, Tensor], checkpoint: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The weights whose names begin with ``backbone.``, without it; ``module.`` may stand before.

    Raises:
        CheckpointError: There are none.
    """
    names = {name.removeprefix("module."): name for name in weights}
    found = {
        name.removeprefix("backbone."): weights[old] for name, old in names.items() if name.startswith("backbone.")
    }
    if not found:
        raise CheckpointError(f"{checkpoint} has no weights under backbone.*: give the checkpoint of a whole model")
    return found


def _require_same_names(
    weights: Mapping[str, Tensor], arch: dict[str, Any], config: Config, checkpoint: str | os.PathLike[str]
) -> None:
    with DefaultScope.overwrite_default_scope(config.get("default_scope", "mmengine")), torch.device("meta"):
        wanted = MODELS.build(arch).state_dict()
    shapes = {name: value.shape for name, value in weights.items()}
    wrong = sorted(set(shapes) ^ set(wanted)) or [name for name in wanted if wanted[name].shape != shapes[name]]
    if wrong:
        raise CheckpointError(
            f"the backbone in {checkpoint} is not that of {config.filename} (first difference: {wrong[0]}): give the config it "
            f"was trained with"
        )


def publish(checkpoint: str | os.PathLike[str], out: str | os.PathLike[str], trust: bool = False) -> Path:
    """Write a checkpoint's weights without optimizer state, with the first 8 digits of their checksum in the file's name.

    Args:
        checkpoint: A checkpoint of a training.
        out: Path to write, ending in .pth or .safetensors; the digits go before the suffix.
        trust: Unpickle a file that cannot be read otherwise, which runs the code in it. Default: False.

    Returns:
        The path that was written.

    Raises:
        FileNotFoundError, CheckpointError: The checkpoint is missing or unreadable.
        ValueError: Another suffix.
    """
    weights, about = read_weights(checkpoint, trust)
    kept = {name: json.dumps(about[name]) for name in ("dataset_meta", "epoch", "iter") if _is_plain(about.get(name))}
    out = Path(out)
    path = out.with_name(f"{out.stem}-{checksum(weights)[:8]}{out.suffix}")
    save_file(weights, path, {**kept, "csan_mm_version": __version__, "source": Path(checkpoint).name})
    return path


def _is_plain(value: Any) -> bool:
    try:
        return value is not None and bool(json.dumps(value))
    except TypeError:
        return False
