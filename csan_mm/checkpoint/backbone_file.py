"""The backbone of a trained classifier, detector or segmentor as a file of its own, and whole models ready to be published."""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.registry import MODELS, DefaultScope
from torch import Tensor
from torch.hub import HASH_REGEX

from csan_mm.checkpoint.files import read_weights, replacing, require_suffix, save_file, write_weights
from csan_mm.common.config_types import library_of
from csan_mm.common.errors import ArgumentError, CheckpointError
from csan_mm.common.settings import without_init_cfg
from csan_mm.version import __version__

SUFFIXES = (".safetensors", ".pth")

#: What of a checkpoint's ``meta`` is published. Its config is not: it names folders of the machine it was trained on.
PUBLISHED = ("dataset_meta", "epoch", "iter", "seed", "experiment_name", "mmengine_version")


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
    arch = without_init_cfg(config.model.backbone.to_dict())
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
    with DefaultScope.overwrite_default_scope(library_of(config) or "mmengine"), torch.device("meta"):
        wanted = MODELS.build(arch).state_dict()
    shapes = {name: value.shape for name, value in weights.items()}
    wrong = sorted(set(shapes) ^ set(wanted)) or [name for name in wanted if wanted[name].shape != shapes[name]]
    if wrong:
        raise CheckpointError(
            f"the backbone in {checkpoint} is not that of {config.filename} (first difference: {wrong[0]}): give the config it "
            f"was trained with"
        )


def publish(checkpoint: str | os.PathLike[str], out: str | os.PathLike[str], trust: bool = False) -> Path:
    """Write a checkpoint's weights without optimizer state, with the first 8 digits of the file's SHA-256 in its name.

    ``torch.hub.load_state_dict_from_url(..., check_hash=True)`` verifies these digits. Of what the checkpoint says about itself
    stays what OpenMMLab's tools read and what names no path: ``PUBLISHED``.

    Args:
        checkpoint: A checkpoint of a training.
        out: Path to write, ending in .pth or .safetensors; the digits go before the suffix.
        trust: Unpickle a file that cannot be read otherwise, which runs the code in it. Default: False.

    Returns:
        The path that was written.

    Raises:
        FileNotFoundError, CheckpointError: The checkpoint is missing or unreadable.
        ValueError: Another suffix, or a name in which torch.hub would take something else for the digits.
    """
    out = Path(out)
    require_suffix(out)
    if (found := HASH_REGEX.search(f"{out.stem}-00000000{out.suffix}")).start() < len(out.stem):
        raise ArgumentError(
            f"out={str(out)!r}: torch.hub would take {found.group(1)!r} in it for the file's checksum: take a name "
            f"without '{found.group()}'"
        )
    weights, about = read_weights(checkpoint, trust)
    kept = {name: _plain(about[name]) for name in PUBLISHED if _plain(about.get(name)) is not None}
    kept |= {"csan_mm_version": __version__, "source": Path(checkpoint).name}
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".publishing-") as folder:
        written = Path(folder) / "weights"
        write_weights(weights, written, out.suffix, kept)
        digits = hashlib.sha256(written.read_bytes()).hexdigest()[:8]
        path = out.with_name(f"{out.stem}-{digits}{out.suffix}")
        with replacing(path) as temporary:
            os.replace(written, temporary)
    return path


def _plain(value: Any) -> Any:
    """Values as JSON has them, arrays as lists; None for what JSON cannot hold."""
    try:
        return json.loads(json.dumps(value, default=lambda array: array.tolist()))
    except (TypeError, AttributeError):
        return None
