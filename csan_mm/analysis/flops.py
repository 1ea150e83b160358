"""Multiply-accumulates of a backbone, or of a detector, segmentor or classifier part by part; needs no data set.

Counted are matrix products, convolutions and attention (PyTorch's FlopCounterMode), fused attention as the two products it
is, the kernels of csan_mm as they run; elementwise work, norms, pooling, resizing, NMS and RoIAlign count nothing. One
multiply-accumulate (MAC) is two floating-point operations (FLOPs). Papers on backbones mostly print MACs and call them FLOPs.

No arithmetic is done: tensors have shapes only, so that any model fits any image size in seconds.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from mmengine.logging import print_log
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from csan_mm.layers.dynamic import DynamicLayer
from csan_mm.layers.stem import image_channels

#: Heads that only take part in training.
TRAINING_ONLY = ("auxiliary_head",)


@dataclass(frozen=True)
class Part:
    """What one part of a model costs for one image.

    Attributes:
        name: Its attribute in the model.
        macs: Multiply-accumulates of a forward pass.
        params: Number of parameters.
        dynamic_macs: Share of ``macs`` spent on predicting the kernels of dynamic layers.
        training_only: Whether a trained model runs without it.
    """

    name: str
    macs: int
    params: int
    dynamic_macs: int = 0
    training_only: bool = False

    @property
    def flops(self) -> int:
        """Floating-point operations, two for each multiply-accumulate."""
        return 2 * self.macs


def count_model(model: nn.Module, shape: tuple[int, int], proposals: int = 1000, detections: int = 100) -> list[Part]:
    """Count a model for one image.

    Args:
        model: A backbone, or a model of mmdet, mmseg or mmpretrain with ``backbone``, and ``neck`` and heads where it has them.
        shape: (H, W) of the image as the backbone gets it.
        proposals: Number of boxes each box head of a two-stage detector gets. Default: 1000.
        detections: Number of boxes its mask heads get. Default: 100.

    Returns:
        Its parts, in the order the data pass them. A part this function cannot run is named in a warning, not guessed.

    Example:
        >>> (part,) = count_model(SwinCSaN('tiny'), (224, 224))
        >>> f'{part.macs / 1e9:.2f} GMACs'
        '4.70 GMACs'
    """
    backbone = getattr(model, "backbone", model)
    parts: list[Part] = []
    with shapes_only():
        image = torch.empty(1, image_channels(backbone), *shape, device=next(model.parameters()).device)
        features = _count(parts, "backbone", backbone, image)
        if backbone is model:
            return parts
        if getattr(model, "neck", None) is not None:
            features = _count(parts, "neck", model.neck, features)
        for name in ("rpn_head", "bbox_head", "mask_head", "decode_head", "auxiliary_head", "head"):
            head = getattr(model, name, None)
            if head is not None:
                _count_head(parts, name, head, features)
        if getattr(model, "roi_head", None) is not None:
            _count_roi_head(parts, model.roi_head, proposals, detections)
    _warn_of_uncounted(model, {part.name.split(".")[0] for part in parts})
    return parts


def format_parts(parts: list[Part]) -> str:
    """A table of the parts, with their sum over what inference needs."""
    rows = [f"{'part':<32}{'GMACs':>10}{'GFLOPs':>10}{'params/M':>10}"]
    for part in parts:
        rows.append(_row(part.name + (" (training only)" if part.training_only else ""), part.macs, part.params))
        if part.dynamic_macs:
            rows.append(_row("  predicting kernels", part.dynamic_macs, None))
    used = [part for part in parts if not part.training_only]
    rows.append(_row("inference", sum(part.macs for part in used), sum(part.params for part in used)))
    return "\n".join(rows)


def _row(name: str, macs: int, params: int | None) -> str:
    return f"{name:<32}{macs / 1e9:>10.3f}{2 * macs / 1e9:>10.3f}" + (
        "" if params is None else f"{params / 1e6:>10.3f}"
    )


def count_macs(module: nn.Module, *inputs: Any, **options: Any) -> int:
    """Multiply-accumulates of ``module(*inputs)``; the inputs may be of any kind, their values do not matter."""
    return sum(macs_by_operator(module, *inputs, **options).values())


def macs_by_operator(module: nn.Module, *inputs: Any, **options: Any) -> dict[str, int]:
    """Multiply-accumulates of ``module(*inputs, **options)`` under the names of PyTorch's operators, such as 'bmm'."""
    with FlopCounterMode(display=False, custom_mapping=_fused_attention()) as counter, torch.no_grad():
        module(*inputs, **options)
    counts = counter.get_flop_counts().get("Global", {})
    return {operator.__name__: flops // 2 for operator, flops in counts.items()}


def count_classifier(model: nn.Module, shape: tuple[int, int]) -> tuple[int, int]:
    """Multiply-accumulates of a classifier of mmpretrain for one image (H, W): all, and those without the products of tokens.

    The second is how MALA's paper counts: projections and convolutions, not the batched products within an attention.
    """
    with shapes_only():
        image = torch.empty(1, 3, *shape, device=next(model.parameters()).device)
        counts = macs_by_operator(model.eval(), image, mode="tensor")
    products = sum(macs for name, macs in counts.items() if "bmm" in name or "attention" in name)
    return sum(counts.values()), sum(counts.values()) - products


@contextmanager
def shapes_only() -> Iterator[None]:
    """New tensors have no data, and what is computed with them has none either; parameters are left alone."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        yield


def _count(parts: list[Part], name: str, module: nn.Module, *inputs: Any) -> Any:
    """Append what a module costs, in eval mode, and return its output."""
    outputs: list[Any] = []
    dynamic: list[int] = []
    handles = [module.register_forward_hook(lambda _, __, output: outputs.append(output))]
    for layer in module.modules():
        if isinstance(layer, DynamicLayer):
            handles.append(
                layer.register_forward_hook(lambda own, args, _: dynamic.append(own.prediction_macs(args[1])))
            )
    modes = [(child, child.training) for child in module.modules()]
    try:
        module.eval()
        macs = count_macs(module, *inputs)
    finally:
        for child, mode in modes:
            child.training = mode
        for handle in handles:
            handle.remove()
    params = sum(parameter.numel() for parameter in module.parameters())
    parts.append(Part(name, macs, params, sum(dynamic), name.split(".")[0] in TRAINING_ONLY))
    return outputs[-1]


def _count_head(parts: list[Part], name: str, head: nn.Module, features: Any) -> None:
    """One head, or several that follow each other (cascades of mmseg, which take the last one's output)."""
    if not isinstance(head, nn.ModuleList):
        _count(parts, name, head, features)
        return
    previous: tuple[Any, ...] = ()
    for i, stage in enumerate(head):
        output = _count(parts, f"{name}.{i}", stage, features, *previous)
        previous = () if name in TRAINING_ONLY else (output,)


def _count_roi_head(parts: list[Part], roi_head: nn.Module, proposals: int, detections: int) -> None:
    """Box and mask heads of two-stage detectors on as many regions as they get; cascades have several of each."""
    for kind, number in (("bbox", proposals), ("mask", detections)):
        extractors, heads = _listed(roi_head, f"{kind}_roi_extractor"), _listed(roi_head, f"{kind}_head")
        for i, head in enumerate(heads):
            extractor = extractors[min(i, len(extractors) - 1)]
            side = extractor.roi_layers[0].output_size
            size = (number, extractor.out_channels, *((side, side) if isinstance(side, int) else side))
            regions = torch.empty(size, device=next(head.parameters()).device)
            _count(parts, f"roi_head.{kind}_head" + (f".{i}" if len(heads) > 1 else ""), head, regions)


def _listed(owner: nn.Module, name: str) -> Sequence[nn.Module]:
    found = getattr(owner, name, None)
    if found is None:
        return ()
    return list(found) if isinstance(found, nn.ModuleList) else [found]


def _warn_of_uncounted(model: nn.Module, counted: set[str]) -> None:
    left = [
        name for name, child in model.named_children() if name not in counted and any(True for _ in child.parameters())
    ]
    if left:
        print_log(
            f"not counted, no rule for these parts of {type(model).__name__}: {', '.join(left)}",
            logger="current",
            level=logging.WARNING,
        )


def _fused_attention() -> dict[Any, Any]:
    """PyTorch counts fused attention everywhere but on the CPU, under whose name this is."""
    return {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention_flops}


def _attention_flops(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return sdpa_flop_count(*[getattr(entry, "shape", entry) for entry in (query, key, value)])
