"""What CBSA's representatives stand for: where each draws from, and the segments that follow without training (arXiv 2509.16875).

A (m, N) holds for each representative its softmax over the tokens. Token i belongs to the representative that holds it highest,

    segment_i = argmax_m mean over the heads of A_mi,

which cuts the image into at most m segments without a label. Where labels are given, each segment counts as the class that most
of its tokens have, and the mean IoU over the classes that occur says how well segments and objects agree (our reading of the
paper's zero-shot segmentation).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from csan_mm.analysis.blocks import mixer_calls
from csan_mm.analysis.pictures import as_picture, heading, save_figure, spread_out
from csan_mm.backbones.base import DenseBackbone
from csan_mm.backbones.swin import SwinBlock
from csan_mm.common.errors import ArgumentError
from csan_mm.mixers.cbsa import CBSA

#: Label that counts nothing, as in mmseg.
IGNORED = 255
#: Representatives whose maps a picture shows.
MOST_MAPS = 6


class RepresentativeMaps(NamedTuple):
    """Where the representatives of one layer draw from.

    Attributes:
        name: The mixer's name in the backbone.
        maps: A, mean over the heads (m, rows, columns).
    """

    name: str
    maps: Tensor

    @property
    def segments(self) -> Tensor:
        """The representative of each token (rows, columns)."""
        return self.maps.argmax(dim=0)


@torch.no_grad()
def representative_maps(backbone: DenseBackbone, image: Tensor) -> list[RepresentativeMaps]:
    """A of every CBSA layer for one image.

    Args:
        backbone: With CBSA over whole maps, in eval mode.
        image: (3, H, W), normalised.

    Raises:
        ValueError: No such layer, or representatives that are the tokens themselves.
    """
    found = []
    for call in mixer_calls(backbone, image):
        if isinstance(call.mixer, CBSA) and not isinstance(call.block, SwinBlock):
            coefficients = call.mixer.trace(call.x, call.grid).coefficients
            if coefficients is not None:
                rows, columns = call.grid
                own = coefficients[0, :, :, -rows * columns :].mean(dim=0)  # (m, N), class and registers left out
                found.append(RepresentativeMaps(call.name, own.unflatten(1, (rows, columns))))
    if not found:
        raise ArgumentError(
            f"{type(backbone).__name__} has no representatives here: take a CBT or ViT with mixer='cbsa', pooled or learned"
        )
    return found


def matched_miou(segments: Tensor, labels: Tensor) -> float | None:
    """Mean IoU over the classes that occur, when each segment counts as the class that most of its tokens have.

    Args:
        segments: A number for each token, any shape.
        labels: The class of each token, of the same shape; 255 counts nothing.

    Returns:
        From 0 to 1; ``None`` where all is 255.
    """
    known = labels != IGNORED
    segments, labels = segments[known], labels[known]
    if not len(labels):
        return None
    guessed = torch.empty_like(labels)
    for segment in segments.unique():
        guessed[segments == segment] = labels[segments == segment].mode().values
    ious = [
        float(((guessed == c) & (labels == c)).sum() / ((guessed == c) | (labels == c)).sum()) for c in labels.unique()
    ]
    return sum(ious) / len(ious)


def measure(
    backbone: DenseBackbone, images: Sequence[Tensor], labels: Sequence[Tensor] | None = None
) -> tuple[list[dict[str, Any]], Any]:
    """One row per layer: number of representatives, of segments that occur, and the matched mean IoU where labels are given.

    Args:
        backbone: See :func:`representative_maps`.
        images: (3, H, W) each, normalised.
        labels: One label map (H, W) per image. Default: None.
    """
    every = [representative_maps(backbone, image) for image in images]
    rows = []
    for layer in zip(*every):
        row = {
            "layer": layer[0].name,
            "representatives": layer[0].maps.shape[0],
            "segments": sum(len(own.segments.unique()) for own in layer) / len(layer),
        }
        if labels is not None:
            scores = [matched_miou(own.segments, at_tokens(truth, own.segments)) for own, truth in zip(layer, labels)]
            known = [score for score in scores if score is not None]
            row["mIoU"] = sum(known) / len(known) if known else None
        rows.append(row)
    return rows, (images[0], every[0])


def at_tokens(labels: Tensor, segments: Tensor) -> Tensor:
    """A label map (H, W) at the size of the tokens' grid, nearest neighbours."""
    return interpolate(labels[None, None].float(), size=segments.shape, mode="nearest-exact")[0, 0].long()


def draw(named: dict[str, tuple[Tensor, list[RepresentativeMaps]]], path: Path) -> None:
    """Write a picture: for each backbone some layers; the image, its segments, and the maps of some representatives.

    Args:
        named: Name of a backbone -> an image (3, H, W), and its layers.
        path: Where to; its ending says the format.
    """
    from matplotlib.figure import Figure

    lines = [(name, image, layer) for name, (image, layers) in named.items() for layer in spread_out(layers)]
    columns = 2 + min(MOST_MAPS, max((layer.maps.shape[0] for _, _, layer in lines), default=0))
    figure = Figure(figsize=(1.9 * columns, 2.2 * len(lines)), layout="constrained")
    for panels, (name, image, layer) in zip(figure.subplots(len(lines), columns, squeeze=False), lines):
        for panel in panels:
            panel.set_axis_off()
        panels[0].imshow(as_picture(image))
        panels[0].set_title(heading(name, layer.name), fontsize=8)
        panels[1].imshow(layer.segments.numpy(), cmap="tab20", interpolation="nearest")
        panels[1].set_title("segments", fontsize=8)
        for panel, index in zip(panels[2:], spread_out(range(layer.maps.shape[0]), MOST_MAPS)):
            panel.imshow(layer.maps[index].numpy(), cmap="magma")
            panel.set_title(f"representative {index}", fontsize=8)
    save_figure(figure, path)
