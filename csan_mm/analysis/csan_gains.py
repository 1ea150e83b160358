"""CSaN's gains over the image: where temperature, column gain, public and private path are high or low, by layer and head.

The symbols are those of csan_mm/mixers/csan.py; kpub and kpriv, one per channel, are averaged over the channels of a head.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from csan_mm.analysis.blocks import mixer_calls, on_map
from csan_mm.analysis.pictures import as_picture, heading, save_figure, spread_out
from csan_mm.backbones.base import DenseBackbone
from csan_mm.common.errors import ArgumentError
from csan_mm.mixers.csan import GAINS, CSaN


class GainMaps(NamedTuple):
    """The gains of one mixer for one image.

    Attributes:
        name: The mixer's name in the backbone.
        maps: Gain -> (H, rows, columns), H heads.
    """

    name: str
    maps: dict[str, Tensor]


class _Probe(nn.Module):
    """Gives the four gains of each query side by side in place of a mixer's output: (B, N, C) -> (B, n, 4 H)."""

    def __init__(self, mixer: CSaN) -> None:
        super().__init__()
        self.mixer = mixer

    def forward(self, x: Tensor, grid: Any = None, mask: Tensor | None = None) -> Tensor:
        trace = self.mixer.trace(x, mask)
        n = trace.q.shape[-2]
        gains = []
        for name in GAINS:
            gain = getattr(trace, name).mean(dim=-1, keepdim=True)  # (B, H, n or N or 1, 1)
            if gain.shape[-2] not in (1, n):  # of keys, where queries are pooled
                gain = self.mixer.group_mean(gain)
            gains.append(gain.expand(-1, -1, n, -1).squeeze(-1).transpose(1, 2))  # (B, n, H)
        return torch.cat(gains, dim=-1)


@torch.no_grad()
def gain_maps(backbone: DenseBackbone, image: Tensor) -> list[GainMaps]:
    """tau, mu, kpub and kpriv of every CSaN mixer on its own map.

    Args:
        backbone: With CSaN in it, in eval mode.
        image: (3, H, W), normalised.

    Raises:
        ValueError: No CSaN in the backbone.
    """
    calls = [call for call in mixer_calls(backbone, image) if isinstance(call.mixer, CSaN)]
    if not calls:
        raise ArgumentError(f"{type(backbone).__name__} has no CSaN mixer here: take one with mixer='csan'")
    return [GainMaps(call.name, _split(on_map(call, _Probe(call.mixer)))) for call in calls]


def _split(gains: Tensor) -> dict[str, Tensor]:
    """(1, rows, columns, 4 H) -> gain -> (H, rows, columns)."""
    return {name: part.permute(2, 0, 1).cpu() for name, part in zip(GAINS, gains[0].chunk(4, dim=-1))}


def measure(backbone: DenseBackbone, images: Sequence[Tensor]) -> tuple[list[dict[str, Any]], Any]:
    """Mean and spread of each gain by layer and head over all images, and what the picture shows: the first image's maps."""
    every = [gain_maps(backbone, image) for image in images]
    rows = []
    for layer in zip(*every):
        row: dict[str, Any] = {"layer": layer[0].name}
        for gain in GAINS:
            values = torch.stack([own.maps[gain].flatten(1) for own in layer], dim=1).flatten(1)  # (H, images x cells)
            row[gain] = {"mean": values.mean(dim=1).tolist(), "spread": values.std(dim=1, correction=0).tolist()}
        rows.append(row)
    return rows, (images[0], every[0])


def draw(named: dict[str, tuple[Tensor, list[GainMaps]]], path: Path) -> None:
    """Write a picture: for each backbone some layers over its depth, for each the image and the gains, averaged over heads.

    Args:
        named: Name of a backbone -> an image (3, H, W), and its gains.
        path: Where to; its ending says the format.
    """
    from matplotlib.figure import Figure

    lines = [(name, image, layer) for name, (image, layers) in named.items() for layer in spread_out(layers)]
    columns = 1 + len(GAINS)
    figure = Figure(figsize=(2.4 * columns, 2.3 * len(lines)), layout="constrained")
    for panels, (name, image, layer) in zip(figure.subplots(len(lines), columns, squeeze=False), lines):
        for panel in panels:
            panel.set_axis_off()
        panels[0].imshow(as_picture(image))
        panels[0].set_title(heading(name, layer.name), fontsize=8)
        for panel, gain in zip(panels[1:], GAINS):
            values = layer.maps[gain].mean(dim=0)
            shown = panel.imshow(values.numpy(), cmap="viridis")
            panel.set_title(gain, fontsize=8)
            figure.colorbar(shown, ax=panel, shrink=0.8).ax.tick_params(labelsize=6)
    save_figure(figure, path)
