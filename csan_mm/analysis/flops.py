"""Multiply-accumulates of a backbone, or of a detector, segmentor or classifier part by part; needs no data set.

Counted are matrix products, convolutions and attention (PyTorch's FlopCounterMode), fused attention as the two products it
is, the kernels of csan_mm as they run; elementwise work, norms, pooling, resizing (that of positions too), NMS and RoIAlign
count nothing. One multiply-accumulate (MAC) is two floating-point operations (FLOPs). Papers on backbones mostly print MACs
and call them FLOPs.

What runs is the model's own inference (``analysis.inference_path``), where possible with tensors that have shapes only, so that
any model fits any image size in seconds. Every parameter is in a part that ran or is named as not counted.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from mmengine.logging import print_log
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from csan_mm.analysis.inference_path import Path, fixed_boxes, inference_paths, replaced
from csan_mm.layers import positions
from csan_mm.layers.dynamic import DynamicLayer
from csan_mm.layers.stem import image_channels

#: Parts that only take part in training: mmseg's auxiliary heads, DINO's noised queries.
TRAINING_ONLY = ("auxiliary_head", "dn_query_generator")

#: What the operators that multiply tokens with each other have in their names; the last is csan_mm's kernel of CSaN.
PRODUCTS_OF_TOKENS = ("bmm", "attention", "phi_row_mean")


@dataclass(frozen=True)
class Part:
    """What one part of a model costs for one image.

    Attributes:
        name: Its attribute in the model.
        macs: Multiply-accumulates of a forward pass.
        params: Number of parameters.
        dynamic_macs: Share of ``macs`` spent on predicting the kernels of dynamic layers.
        training_only: Whether a trained model runs without it.
        counted: False for parameters that took no part in what ran; ``macs`` is 0 then.
    """

    name: str
    macs: int
    params: int
    dynamic_macs: int = 0
    training_only: bool = False
    counted: bool = True

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
        Its parts, in the order of their attributes; every parameter is in exactly one. Those that took no part in what ran
        stand in parts of their own, with ``counted=False``, and are named in a warning.

    Example:
        >>> (part,) = count_model(SwinCSaN('tiny'), (224, 224))
        >>> f'{part.macs / 1e9:.2f} GMACs'
        '4.70 GMACs'
    """
    parts, used = _run_inference(model, shape, proposals, detections)
    parts += _training_only(model, shape)
    by_name = {part.name: part for part in parts}
    owned: dict[str, int] = {}
    seen: set[int] = set()
    for name, module in [*_part_modules(model), (_itself(model), model)]:
        fresh = [value for value in module.parameters() if id(value) not in seen]
        seen.update(map(id, fresh))
        only = name.split(".")[0] in TRAINING_ONLY
        owned[name] = sum(value.numel() for value in fresh if only or id(value) in used)
        by_name.setdefault(name, Part(name, 0, 0, training_only=only))
    ran = {part.name for part in parts if not part.name.endswith("roi_extractor")}  # these pool, which counts nothing
    counted = [replace(by_name[name], params=owned[name]) for name in owned if owned[name] or name in ran]
    left = [Part(name, 0, params, counted=False) for name, params in _unused(model, used)]
    if left:
        names = ", ".join(part.name for part in left)
        _warn(f"not counted, they took no part in what ran of {type(model).__name__}: {names}")
    return counted + left


def format_parts(parts: list[Part]) -> str:
    """A table of the parts; their sum is called inference where every parameter that inference needs took part."""
    rows = [f"{'part':<32}{'GMACs':>10}{'GFLOPs':>10}{'params/M':>10}"]
    for part in parts:
        note = " (training only)" if part.training_only else "" if part.counted else " (not counted)"
        rows.append(_row(part.name + note, part.macs, part.params))
        if part.dynamic_macs:
            rows.append(_row("  predicting kernels", part.dynamic_macs, None))
    used = [part for part in parts if not part.training_only and part.counted]
    whole = all(part.counted for part in parts)
    rows.append(
        _row(
            "inference" if whole else "counted, not all of inference",
            sum(part.macs for part in used),
            sum(part.params for part in used),
        )
    )
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
    counter = FlopCounterMode(display=False, custom_mapping=_fused_attention())
    with countable(), counter, torch.no_grad():
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
    products = sum(macs for name, macs in counts.items() if any(part in name for part in PRODUCTS_OF_TOKENS))
    return sum(counts.values()), sum(counts.values()) - products


@contextmanager
def shapes_only() -> Iterator[None]:
    """New tensors have no data, and what is computed with them has none either; parameters are left alone."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        yield


@contextmanager
def countable() -> Iterator[None]:
    """Within the block a counter sees what it shall count, and nothing else.

    Torch runs no encoder layer as one kernel (its fast path), of which a counter sees nothing; the resizing of positions, two
    matrix products, is done without a product.
    """
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with replaced(positions, "weighted_sums", _sums_without_a_product):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _sums_without_a_product(weights: Tensor, maps: Tensor, axis: int) -> Tensor:
    """What ``weighted_sums`` gives."""
    return (weights.unsqueeze(-1) * maps.movedim(axis, -2).unsqueeze(-3)).sum(-2).movedim(-2, axis)


def _run_inference(
    model: nn.Module, shape: tuple[int, int], proposals: int, detections: int
) -> tuple[list[Part], set[int]]:
    """Parts with their cost, and the ids of the parameters that took part.

    Shapes alone where that is possible; some networks (deformable attention) look at values, and run in earnest.
    """
    reasons = []
    for path in inference_paths(model):
        for world in (shapes_only, _in_earnest):
            try:
                with world(), fixed_boxes(model, proposals, detections):
                    return _trace(model, path, shape)
            except Exception as error:  # whatever a library's model raises
                reasons.append(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
    _warn(f"the inference of {type(model).__name__} cannot be run here ({reasons[-1]}): its backbone alone is counted")
    with shapes_only():
        return _trace(model, getattr(model, "backbone", model), shape)


def _training_only(model: nn.Module, shape: tuple[int, int]) -> list[Part]:
    """What auxiliary heads cost, on the features the model's other head gets."""
    heads = getattr(model, "auxiliary_head", None)
    if heads is None or not hasattr(model, "extract_feat"):
        return []

    def path(image: Tensor) -> None:
        features = model.extract_feat(image)
        for head in heads if isinstance(heads, nn.ModuleList) else [heads]:
            head(features)

    with shapes_only():
        parts, _ = _trace(model, path, shape)
    return [replace(part, training_only=True) for part in parts if part.name.split(".")[0] in TRAINING_ONLY]


def _trace(model: nn.Module, path: Path, shape: tuple[int, int]) -> tuple[list[Part], set[int]]:
    """Run a path in eval mode and say what each part of the model cost, and which parameters took part."""
    backbone = getattr(model, "backbone", model)
    image = torch.zeros(1, image_channels(backbone), *shape, device=next(model.parameters()).device)
    modes = [(child, child.training) for child in model.modules()]
    used = _Used()
    counter = FlopCounterMode(display=False, custom_mapping=_fused_attention())
    account = _Account(counter)
    try:
        model.eval()
        with ExitStack() as stack:
            for name, part in _part_modules(model):
                for module in part.modules():
                    stack.enter_context(replaced(module, "forward", account.watch(name, module)))
            stack.enter_context(used)
            with countable(), counter, torch.no_grad():
                path(image)
    finally:
        for child, mode in modes:
            child.training = mode
    rest = counter.get_total_flops() // 2 - sum(account.macs.values())
    parts = [Part(name, macs, 0, account.dynamic.get(name, 0)) for name, macs in account.macs.items()]
    return [*parts, *([Part(_itself(model), rest, 0)] if rest else [])], used.ids


@dataclass
class _Account:
    """Multiply-accumulates by part; what a part's module calls in another part belongs to that."""

    counter: FlopCounterMode
    macs: dict[str, int] = field(default_factory=dict)
    dynamic: dict[str, int] = field(default_factory=dict)
    _inside: list[str | None] = field(default_factory=lambda: [None])
    _mark: int = 0

    def watch(self, name: str, module: nn.Module) -> Callable[..., Any]:
        """The module's forward, charged to a part; mmseg calls forward itself, where no hook would notice."""
        forward = module.forward

        def charged(*args: Any, **options: Any) -> Any:
            self._charge()
            self._inside.append(name)
            if isinstance(module, DynamicLayer):
                grid = args[1] if len(args) > 1 else options["grid"]
                self.dynamic[name] = self.dynamic.get(name, 0) + module.prediction_macs(grid)
            try:
                return forward(*args, **options)
            finally:
                self._charge()
                self._inside.pop()

        return charged

    def _charge(self) -> None:
        now = self.counter.get_total_flops() // 2
        if self._inside[-1] is not None:
            self.macs[self._inside[-1]] = self.macs.get(self._inside[-1], 0) + now - self._mark
        self._mark = now


class _Used(TorchFunctionMode):
    """Remembers the parameters that stand in the arguments of anything that gives a tensor (``size()`` or ``.device`` do not)."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[int] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(isinstance(leaf, Tensor) for leaf in tree_leaves(result)):
            self.ids.update(id(leaf) for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, nn.Parameter))
        return result


@contextmanager
def _in_earnest() -> Iterator[None]:
    yield


def _part_modules(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """Name and module of each part: the model's children, those of a RoI head, and each stage of a cascade."""
    if not hasattr(model, "backbone"):
        return [("backbone", model)]
    found: list[tuple[str, nn.Module]] = []
    for name, child in model.named_children():
        inner = (
            [(f"{name}.{own}", part) for own, part in child.named_children()] if name == "roi_head" else [(name, child)]
        )
        for label, part in inner:
            if isinstance(part, nn.ModuleList):
                found += [(f"{label}.{i}" if len(part) > 1 else label, stage) for i, stage in enumerate(part)]
            else:
                found.append((label, part))
    return found


def _itself(model: nn.Module) -> str:
    return f"{type(model).__name__} itself"


def _unused(module: nn.Module, used: set[int]) -> Iterator[tuple[str, int]]:
    """Name and number of the parameters that took no part: whole modules where that is so, else single ones."""
    seen: set[int] = set()

    def visit(part: nn.Module, name: str) -> Iterator[tuple[str, int]]:
        if name.split(".")[0] in TRAINING_ONLY:
            return
        own = [value for value in part.parameters() if id(value) not in seen]
        if own and name and not any(id(value) in used for value in part.parameters()):
            seen.update(map(id, own))
            yield name, sum(value.numel() for value in own)
            return
        for key, value in part.named_parameters(recurse=False):
            if id(value) not in used | seen:
                seen.add(id(value))
                yield f"{name}.{key}".lstrip("."), value.numel()
        for key, child in part.named_children():
            yield from visit(child, f"{name}.{key}".lstrip("."))

    return visit(module, "")


def _warn(text: str) -> None:
    print_log(text, logger="current", level=logging.WARNING)


def _fused_attention() -> dict[Any, Any]:
    """PyTorch counts fused attention everywhere but on the CPU, under whose name this is."""
    return {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention_flops}


def _attention_flops(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
    return sdpa_flop_count(*[getattr(entry, "shape", entry) for entry in (query, key, value)])
