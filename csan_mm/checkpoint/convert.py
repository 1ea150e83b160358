"""Official checkpoints -> csan_mm's names and layouts, one function per source; the values keep their meaning.

What a source's file may lack (because a plain network is loaded into a compensated one) stands beside its function, so that
the loader can tell an expected difference from a wrong file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from csan_mm.checkpoint import cbt, hiera, mavit, swin, vit, weightformer
from csan_mm.checkpoint.files import CheckpointError, strip_prefixes
from csan_mm.common.errors import ArgumentError

StateDict = dict[str, Tensor]

#: Output norms exist per returned level, a pyramid for segmentation; an ImageNet file has at most the last norm.
OUTPUT_PARTS = r"(?:norm\d+|pyramid)\."


@dataclass(frozen=True)
class Source:
    """One layout of checkpoints.

    Attributes:
        convert: From that layout to ours, backbone names only.
        looks_like: Whether a state dict has that layout.
        may_lack: Regular expressions of our names that such a file need not have.
        head: From that layout to the names of the head in OpenMMLab's models; ``None``: heads are left out.
        head_name: What the model that has this head calls it.
        is_typical: Whether a state dict has that layout rather than another one that looks alike. Default: ``looks_like``.
    """

    convert: Callable[[StateDict], StateDict]
    looks_like: Callable[[StateDict], bool]
    may_lack: tuple[str, ...] = (OUTPUT_PARTS,)
    head: Callable[[StateDict], StateDict] | None = None
    head_name: str = "head"
    is_typical: Callable[[StateDict], bool] | None = None


_PLAIN = (OUTPUT_PARTS, *swin.CSAN_OWN)
_VIT = (OUTPUT_PARTS, vit.MEAN_POOLED)

SOURCES: dict[str, Source] = {
    "csan-swin": Source(swin.from_csan, swin.is_csan),
    # timm's older files are Microsoft's, name for name; either source reads both.
    "timm-swin": Source(swin.from_plain, swin.is_plain, _PLAIN, is_typical=swin.is_timm),
    "ms-swin": Source(swin.from_plain, swin.is_plain, _PLAIN),
    "mm-swin": Source(swin.from_openmmlab, swin.is_openmmlab, _PLAIN),
    "csan-vit": Source(vit.from_timm, vit.is_csan, _VIT, vit.head_from_timm),
    "timm-vit": Source(vit.from_timm, vit.is_plain, (*_VIT, *vit.CSAN_OWN), vit.head_from_timm),
    "mm-vit": Source(vit.from_openmmlab, vit.is_openmmlab, (*_VIT, *vit.CSAN_OWN)),
    "csan-hiera": Source(hiera.from_timm, hiera.is_csan),
    "timm-hiera": Source(hiera.from_timm, hiera.is_timm, (OUTPUT_PARTS, *vit.CSAN_OWN)),
    "meta-hiera": Source(hiera.from_meta, hiera.is_meta, (OUTPUT_PARTS, *vit.CSAN_OWN)),
    "mala": Source(mavit.from_mala, mavit.is_mala),
    "weightformer": Source(
        weightformer.from_weightformer, weightformer.is_weightformer, (OUTPUT_PARTS, *weightformer.OURS)
    ),
    "cbsa": Source(cbt.from_cbt, cbt.is_cbt, head=cbt.head_from_cbt),
    "cbsa-seg": Source(cbt.from_segmenter, cbt.is_segmenter, head=cbt.head_from_segmenter, head_name="decode_head"),
}

PARTS = ("backbone", "head", "model")


def convert_state_dict(state_dict: Mapping[str, Tensor], source: str, part: str = "backbone") -> StateDict:
    """Rename and re-order the weights of an official checkpoint.

    Args:
        state_dict: Name -> tensor, as :func:`load_file` returns it; ``module.``, ``_orig_mod.`` and ``backbone.`` are stripped.
        source: Its layout, a key of ``SOURCES``.
        part: 'backbone', 'head', or 'model' for both under the names of an OpenMMLab model (``backbone.*`` and ``head.*`` or
            ``decode_head.*``), which is what ``load_from`` and tools/test.py read. Sources without a head have only the first.
            Default: 'backbone'.

    Returns:
        The weights under csan_mm's names; what is of no use there, such as buffers that the backbone computes, is left out.

    Raises:
        ValueError: Unknown source or part.
        CheckpointError: The names are not those of that source; the message says of which they look.

    Example:
        >>> backbone.load_state_dict(convert_state_dict(load_file(path), 'ms-swin'), strict=False)
    """
    check_source(source, part)
    state_dict = strip_prefixes(state_dict)
    layout = SOURCES[source]
    if not layout.looks_like(state_dict):
        guess = guess_source(state_dict)
        names = ", ".join(list(state_dict)[:3])
        advice = f"they look like source={guess!r}" if guess else f"they look like none of {', '.join(SOURCES)}"
        raise CheckpointError(f"source={source!r} does not fit the names in the checkpoint ({names}, ...): {advice}")
    if part == "backbone":
        return layout.convert(state_dict)
    head = layout.head(state_dict)
    if part == "head":
        return head
    backbone = {f"backbone.{name}": value for name, value in layout.convert(state_dict).items()}
    return backbone | {f"{layout.head_name}.{name}": value for name, value in head.items()}


def check_source(source: str, part: str = "backbone") -> None:
    """Raise a ValueError where there is no such source, or where it has no such part."""
    if source not in SOURCES:
        raise ArgumentError(f"source={source!r} is unknown: take one of {', '.join(SOURCES)}")
    if part not in PARTS:
        raise ArgumentError(f"part={part!r} is unknown: take one of {', '.join(PARTS)}")
    if part != "backbone" and SOURCES[source].head is None:
        raise ArgumentError(f"part={part!r}: the heads of source={source!r} are not converted, take 'backbone'")


def guess_source(state_dict: Mapping[str, Tensor]) -> str | None:
    """The source whose layout a state dict has, or ``None``."""
    state_dict = strip_prefixes(state_dict)
    return next(
        (name for name, source in SOURCES.items() if (source.is_typical or source.looks_like)(state_dict)), None
    )


def left_out(weights: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> list[str]:
    """First words of the names in a file under which nothing was used, such as 'head'.

    Args:
        weights: What the file holds.
        state: What became of it; most of it shares memory with the file's.
    """
    used = {value.untyped_storage().data_ptr() for value in state.values()}
    words = {name.split(".")[0] for name in state}
    kept = {name.split(".")[0] for name, value in weights.items() if value.untyped_storage().data_ptr() in used}
    return sorted({name.split(".")[0] for name in weights} - kept - words)
