"""How much of WeightFormer's kernels is predicted: ||dW|| / ||w|| by depth (arXiv 2605.01711, figure 6)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from csan_mm.analysis.pictures import save_figure
from csan_mm.backbones.base import DenseBackbone
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.dynamic import DynamicLayer
from csan_mm.layers.dynamic_linear import DynamicLinear


@torch.no_grad()
def measure(backbone: DenseBackbone, images: Sequence[Tensor]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One row per dynamic layer: name, block, kind and ||dW|| / ||w||, Frobenius norms before the guard, averaged over images.

    Args:
        backbone: With dynamic layers, in eval mode.
        images: (3, H, W) each, normalised.

    Raises:
        ValueError: No dynamic layers in the backbone.
    """
    layers = {name: layer for name, layer in backbone.named_modules() if isinstance(layer, DynamicLayer)}
    if not layers:
        raise ArgumentError(f"{type(backbone).__name__} has no dynamic layers here: take a WeightFormer")
    ratios: dict[str, list[float]] = {name: [] for name in layers}

    def listener(name: str) -> Any:
        def listen(layer: nn.Module, inputs: tuple[Any, ...]) -> None:
            ratios[name].append(layer.norm_ratio(*inputs))

        return listen

    handles = [layer.register_forward_pre_hook(listener(name)) for name, layer in layers.items()]
    try:
        for image in images:
            backbone(image[None])
    finally:
        for handle in handles:
            handle.remove()
    rows = [
        {
            "layer": name,
            "block": backbone.block_of(f"{name}.w"),
            "kind": "linear" if isinstance(layers[name], DynamicLinear) else "convolution",
            "ratio": sum(values) / len(values),
        }
        for name, values in ratios.items()
    ]
    return rows, rows


def draw(named: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Write a picture: the ratio over the blocks, one line per backbone and kind of layer.

    Args:
        named: Name of a backbone -> its rows.
        path: Where to; its ending says the format.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    panel = figure.subplots()
    for name, rows in named.items():
        for kind, style in (("linear", "-"), ("convolution", "--")):
            own = [row for row in rows if row["kind"] == kind]
            if own:
                blocks, ratios = [row["block"] for row in own], [row["ratio"] for row in own]
                panel.plot(blocks, ratios, style, marker="o", label=f"{name}, {kind}")
    panel.set(xlabel="block", ylabel="||dW|| / ||w||", ylim=(0, None))
    panel.locator_params(axis="x", integer=True)
    panel.grid(alpha=0.3)
    panel.legend()
    save_figure(figure, path)
