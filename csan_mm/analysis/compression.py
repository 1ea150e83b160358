"""Compression and sparsity by layer, as the white-box transformers draw them (CRATE, NeurIPS 2023; CBSA, arXiv 2509.16875).

Each block of CBT is one step of compression and one of sparsification. For tokens Z, the projections U_h of a mixer and
R^c = sum_h R(U_h^T Z) of coding_rate.py:

    tokens              R^c of LN(x) before the attention and of LN(g) behind it, g = x + attention, by the same LN and U
    representatives     R^c of what CBSA extracts, before and after the contraction
    zeros               share of entries that ISTA sets to 0
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from csan_mm.analysis.blocks import mixer_calls
from csan_mm.analysis.coding_rate import coding_rate
from csan_mm.analysis.pictures import save_figure
from csan_mm.backbones.base import DenseBackbone
from csan_mm.backbones.swin import SwinBlock
from csan_mm.common.errors import ArgumentError
from csan_mm.mixers.cbsa import CBSA
from csan_mm.mixers.subspace import SubspaceMixer

#: The error that the authors' code allows.
EPSILON = 0.01
RATES = ("tokens before", "tokens behind", "representatives before", "representatives behind")


@torch.no_grad()
def measure(
    backbone: DenseBackbone, images: Sequence[Tensor], epsilon: float = EPSILON
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One row per block with a subspace mixer: four rates in nats and the share of zeros, means over the images.

    A row lacks the representatives where the mixer has none, and the zeros where the block has no ISTA.

    Args:
        backbone: With CBSA, MSSA or TSSA, in eval mode.
        images: (3, H, W) each, normalised.
        epsilon: The error that the code is allowed. Default: 0.01, the authors'.

    Raises:
        ValueError: No such mixer in the backbone.
    """
    every = [_rows(backbone, image, epsilon) for image in images]
    if not every[0]:
        raise ArgumentError(
            f"{type(backbone).__name__} has no subspaces here: take one with mixer='cbsa', 'mssa' or 'tssa'"
        )
    rows = [
        {
            key: value if key == "layer" else sum(own[key] for own in layer) / len(layer)
            for key, value in layer[0].items()
        }
        for layer in zip(*every)
    ]
    return rows, rows


def _rows(backbone: DenseBackbone, image: Tensor, epsilon: float) -> list[dict[str, Any]]:
    behind: dict[nn.Module, Tensor] = {}
    sparse: dict[nn.Module, Tensor] = {}
    handles = []
    for block in backbone.modules():
        if isinstance(getattr(block, "attn", None), SubspaceMixer):
            handles.append(block.norm2.register_forward_pre_hook(_keep(behind, block)))
            if hasattr(block, "ista"):
                handles.append(block.ista.register_forward_hook(_keep_output(sparse, block)))
    try:
        calls = [call for call in mixer_calls(backbone, image) if isinstance(call.mixer, SubspaceMixer)]
    finally:
        for handle in handles:
            handle.remove()
    return [
        _row(call, behind[call.block], sparse.get(call.block), epsilon) for call in calls if call.name.endswith("attn")
    ]


def _keep(kept: dict[nn.Module, Tensor], block: nn.Module) -> Any:
    def listen(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        kept[block] = inputs[0]

    return listen


def _keep_output(kept: dict[nn.Module, Tensor], block: nn.Module) -> Any:
    def listen(_: nn.Module, __: tuple[Tensor, ...], output: Tensor) -> None:
        kept[block] = output

    return listen


def _row(call: Any, g: Tensor, sparse: Tensor | None, epsilon: float) -> dict[str, Any]:
    mixer = call.mixer

    def rate(points: Tensor) -> float:  # (1, H, n, p)
        return float(coding_rate(points, epsilon).sum())

    def projected(x: Tensor) -> Tensor:
        return mixer.split_heads(mixer.proj(x.flatten(1, -2)))

    row: dict[str, Any] = {"layer": call.name}
    row[RATES[0]], row[RATES[1]] = rate(projected(call.x)), rate(projected(call.block.norm1(g)))
    if isinstance(mixer, CBSA) and not isinstance(call.block, SwinBlock):  # windows have representatives of their own
        trace = mixer.trace(call.x, call.grid)
        row[RATES[2]], row[RATES[3]] = rate(trace.representatives), rate(trace.contracted)
    if sparse is not None:
        row["zeros"] = float((sparse == 0).float().mean())
    return row


def draw(named: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Write a picture: for each backbone the rates of tokens, those of representatives, and the zeros, by layer.

    Args:
        named: Name of a backbone -> its rows.
        path: Where to; its ending says the format.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.5 * len(named)), layout="constrained")
    for panels, (name, rows) in zip(figure.subplots(len(named), 3, squeeze=False), named.items()):
        for panel, curves, label in (
            (panels[0], RATES[:2], "coding rate, nats"),
            (panels[1], RATES[2:], "coding rate, nats"),
            (panels[2], ("zeros",), "share of zeros behind ISTA"),
        ):
            for curve in curves:
                if curve in rows[0]:
                    panel.plot([row[curve] for row in rows], marker="o", label=curve)
            panel.set(title=name, xlabel="layer", ylabel=label)
            panel.locator_params(axis="x", integer=True)
            panel.grid(alpha=0.3)
            if panel.lines:
                panel.legend(fontsize=8)
            else:
                panel.text(0.5, 0.5, "none here", ha="center", transform=panel.transAxes)
    save_figure(figure, path)
