"""Whether neck and heads take the maps that the backbone returns: said before the first iteration, in the config's words."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from mmengine.model import is_model_wrapper
from torch import nn

from csan_mm.common.errors import UserError

#: Side of the picture on which a backbone of another package shows its widths.
_PROBE = 64


def require_fit(model: nn.Module, settings: dict) -> None:
    """Refuse a model whose parts do not fit.

    Args:
        model: As built; may be wrapped for several processes.
        settings: The config's ``model``.

    Raises:
        UserError: The first part that does not fit what comes before it.
    """
    for sentence in misfits(model, settings):
        raise UserError(sentence)


def misfits(model: nn.Module, settings: dict) -> Iterator[str]:
    """One sentence for each neck, head or extractor whose ``in_channels`` are not the widths before it.

    Args:
        model: As built.
        settings: The config's ``model``.
    """
    backbone = getattr(model.module if is_model_wrapper(model) else model, "backbone", None)
    widths = None if backbone is None else _widths(backbone)
    if widths is None:
        return
    source = type(backbone).__name__
    if hasattr(backbone, "out_indices"):
        source += f" with out_indices={tuple(_as_list(backbone.out_indices))}"
    for place, neck in _parts(settings, "neck"):
        yield from _misfit(place, neck, widths, source)
        if (after := _after_neck(neck, widths)) is None:
            return
        if after != widths:
            widths, source = after, f"{place} ({_type(neck)})"
    for key in ("decode_head", "auxiliary_head"):
        for place, head in _parts(settings, key):
            yield from _misfit_of_selection(place, head, widths, source)
    for key in ("rpn_head", "bbox_head", "mask_head", "head"):
        for place, head in _parts(settings, key):
            yield from _misfit_of_head(place, head, widths, source)
    yield from _misfits_of_regions(settings.get("roi_head") or {}, widths, source)


def _widths(backbone: nn.Module) -> list[int] | None:
    """Channels of the maps that a backbone returns; None where it is not to be told."""
    if isinstance(channels := getattr(backbone, "channels", None), tuple):  # ours
        return list(channels)
    parameter = next(backbone.parameters(), None)
    if parameter is None or parameter.is_meta:
        return None
    modes = {module: module.training for module in backbone.modules()}
    backbone.eval()
    try:
        with torch.no_grad():
            maps = backbone(torch.zeros(1, 3, _PROBE, _PROBE, device=parameter.device, dtype=parameter.dtype))
        return [level.shape[1] for level in maps]
    except Exception:  # another input than a picture, other outputs than maps: nothing is known, so nothing is said
        return None
    finally:
        for module, training in modes.items():
            module.training = training


def _misfit(place: str, part: dict, widths: list[int], source: str) -> Iterator[str]:
    wanted = part.get("in_channels")
    fits = wanted in widths if isinstance(wanted, int) else list(wanted or widths) == widths
    if not fits:
        yield _sentence(f"{place}.in_channels={wanted}", widths, source)


def _after_neck(neck: dict, widths: list[int]) -> list[int] | None:
    """Widths behind a neck, as far as its settings say; a neck without ``in_channels`` (a pooling) changes none."""
    if "in_channels" not in neck:
        return widths if "out_channels" not in neck else None
    width = neck.get("out_channels")
    if isinstance(width, int):
        return [width] * neck["num_outs"] if isinstance(neck.get("num_outs"), int) else None
    return None


def _misfit_of_selection(place: str, head: dict, widths: list[int], source: str) -> Iterator[str]:
    """mmseg's heads take some of the maps: ``in_index``."""
    wanted, index = head.get("in_channels"), head.get("in_index", -1)
    if wanted is None:
        return
    indices, channels = _as_list(index), _as_list(wanted)
    if any(not -len(widths) <= position < len(widths) for position in indices):
        yield f"{place}.in_index={index} but {source} returns {len(widths)} map{'s' * (len(widths) > 1)}: correct one of them"
    elif len(channels) == len(indices) and channels != [widths[position] for position in indices]:
        taken = [widths[position] for position in indices]
        yield _sentence(f"{place}.in_channels={wanted}", taken, source, f" at in_index={index}")


def _misfit_of_head(place: str, head: dict, widths: list[int], source: str) -> Iterator[str]:
    """mmdet's dense heads share one width over all maps; mmpretrain's take the last map."""
    wanted = head.get("in_channels")
    taken = widths[-1:] if place == "head" else widths
    if isinstance(wanted, int) and set(taken) != {wanted}:
        yield _sentence(f"{place}.in_channels={wanted}", taken, source)
    strides = (head.get("anchor_generator") or {}).get("strides")
    if isinstance(strides, (list, tuple)) and len(strides) != len(widths):
        yield (
            f"{place}.anchor_generator.strides={list(strides)} are of {len(strides)} maps but {source} returns {len(widths)}: "
            "correct one of them"
        )


def _misfits_of_regions(roi_head: dict, widths: list[int], source: str) -> Iterator[str]:
    for kind in ("bbox", "mask"):
        for place, extractor in _parts(roi_head, f"{kind}_roi_extractor"):
            width, strides = extractor.get("out_channels"), extractor.get("featmap_strides") or []
            used = widths[: len(strides)]
            if isinstance(width, int) and set(used) != {width}:
                yield _sentence(f"roi_head.{place}.out_channels={width}", used, source)
            elif len(strides) > len(widths):
                yield (
                    f"roi_head.{place}.featmap_strides={list(strides)} are of {len(strides)} maps but {source} returns "
                    f"{len(widths)}: correct one of them"
                )
            for name, head in _parts(roi_head, f"{kind}_head"):
                wanted = head.get("in_channels")
                if isinstance(width, int) and isinstance(wanted, int) and wanted != width:
                    yield _sentence(f"roi_head.{name}.in_channels={wanted}", [width], f"roi_head.{place}")


def _sentence(setting: str, widths: Sequence[int], source: str, where: str = "") -> str:
    shown = list(widths) if len(set(widths)) > 1 or len(widths) == 1 else f"{len(widths)} times {widths[0]}"
    return f"{setting} but {source} returns {shown} channels{where}: correct one of them"


def _parts(settings: dict, key: str) -> list[tuple[str, dict]]:
    """The parts under a key, one or a list of them, each with its place."""
    value = settings.get(key)
    if isinstance(value, (list, tuple)):
        return [(f"{key}[{number}]", part) for number, part in enumerate(value) if isinstance(part, dict)]
    return [(key, value)] if isinstance(value, dict) else []


def _type(part: dict) -> str:
    kind = part.get("type")
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))


def _as_list(value: Any) -> list:
    return list(value) if isinstance(value, (list, tuple)) else [value]
