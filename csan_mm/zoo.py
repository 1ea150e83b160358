"""Backbones by name, for people who do not use configs."""

import difflib
import os
from typing import Any

from mmengine.logging import print_log

from csan_mm.backbones import base, cbt, hiera, mavit, swin, vit, weightformer
from csan_mm.checkpoint.files import load_file
from csan_mm.checkpoint.pretrained import Pretrained, detect_source
from csan_mm.common.errors import ArgumentError
from csan_mm.common.unknown_arguments import arguments_of, near_arguments

#: Family -> its class and its named variants.
FAMILIES: dict[str, tuple[type[base.DenseBackbone], dict[str, Any]]] = {
    "swin-csan": (swin.SwinCSaN, swin.ARCHS),
    "vit-csan": (vit.ViTCSaN, vit.ARCHS),
    "hiera-csan": (hiera.HieraCSaN, hiera.ARCHS),
    "mavit": (mavit.MAViT, mavit.ARCHS),
    "weightformer": (weightformer.WeightFormer, weightformer.ARCHS),
    "cbt": (cbt.CBT, cbt.ARCHS),
}


def list_models(pattern: str = "") -> list[str]:
    """Names that :func:`get_backbone` takes.

    Args:
        pattern: Only names that contain it. Default: all.

    Example:
        >>> list_models('swin-csan-t')
        ['swin-csan-tiny-slim', 'swin-csan-tiny']
    """
    return [
        f"{family}-{arch}" for family, (_, archs) in FAMILIES.items() for arch in archs if pattern in f"{family}-{arch}"
    ]


def get_backbone(
    name: str,
    pretrained: str | os.PathLike[str] | None = None,
    source: str | None = None,
    min_match: float = 0.95,
    trust: bool = False,
    **options: Any,
) -> base.DenseBackbone:
    """Build a backbone by name.

    Args:
        name: One of :func:`list_models`.
        pretrained: Path of the weight file to load; nothing is downloaded. Default: none.
        source: Layout of that file, one of ``csan_mm.checkpoint.SOURCES``; ``None`` (default): csan_mm's own, or the one that its
            names are of, which the log says.
        min_match: See :class:`csan_mm.checkpoint.Pretrained`. Default: 0.95.
        trust: Unpickle a file that cannot be read otherwise, which runs the code in it. Default: False.
        **options: Arguments of the backbone's class.

    Returns:
        The backbone, in training mode. ``channels``, ``strides`` and ``feature_info`` describe its outputs.

    Raises:
        ValueError: Unknown name or argument; the message lists the near ones. A source without a file, ``pretrained=True``.
        FileNotFoundError, CheckpointError: The file is missing or does not fit.

    Example:
        >>> backbone = get_backbone('swin-csan-tiny', kappa='bounded', out_indices=(1, 2, 3))
        >>> backbone.channels
        (192, 384, 768)
    """
    names = list_models()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names
        raise ArgumentError(f"name={name!r} is unknown: take one of {', '.join(near)}; csan_mm.list_models() lists all")
    if isinstance(pretrained, bool):
        raise ArgumentError(
            f"pretrained={pretrained!r} is not a file: csan_mm downloads nothing, give the path of a weight file, or None"
        )
    if pretrained is None and source is not None:
        raise ArgumentError(
            f"source={source!r} says how a file is laid out, and there is none: give pretrained=PATH too"
        )
    family = max((family for family in FAMILIES if name.startswith(f"{family}-")), key=len)
    kind = FAMILIES[family][0]
    _check_options(kind, name, options)
    backbone = kind(arch=name.removeprefix(f"{family}-"), **options)
    if pretrained is not None:
        _load(backbone, Pretrained(os.fspath(pretrained), source, min_match, trust))
    return backbone


def _check_options(kind: type[base.DenseBackbone], name: str, options: dict[str, Any]) -> None:
    """Refuse what the class does not take, and ``arch``, which the name says already."""
    for option in options:
        if option == "arch":
            raise ArgumentError(
                f"arch={options[option]!r} beside name={name!r}: the name says it; for sizes of your own build "
                f"csan_mm.backbones.{kind.__name__}(arch=...)"
            )
        if option not in arguments_of(kind):
            raise ArgumentError(f"{kind.__name__} takes no argument {option!r}: {near_arguments(kind, option)}")


def _load(backbone: base.DenseBackbone, pretrained: Pretrained) -> None:
    weights = load_file(pretrained.checkpoint, pretrained.trust)
    if pretrained.source is None:
        pretrained.source = detect_source(backbone, weights, pretrained.min_match)
        if pretrained.source:
            print_log(f"{pretrained.checkpoint}: its names are those of source={pretrained.source!r}", logger="current")
    pretrained.load_into(backbone, weights)
