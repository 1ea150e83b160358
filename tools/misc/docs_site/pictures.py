"""Pictures that are drawn from the code itself: which package uses which, and what each backbone is made of."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

import csan_mm
from csan_mm.backbones.base import DenseBackbone
from csan_mm.mixers.base import TokenMixer

PACKAGE = Path(csan_mm.__file__).parent
#: The variant of each family in the pictures, and the module it stands in.
DRAWN = {
    "swin-csan-tiny": "csan_mm.backbones.swin",
    "vit-csan-tiny": "csan_mm.backbones.vit",
    "hiera-csan-tiny": "csan_mm.backbones.hiera",
    "mavit-tiny": "csan_mm.backbones.mavit",
    "weightformer-tiny": "csan_mm.backbones.weightformer",
    "cbt-tiny": "csan_mm.backbones.cbt",
}


def uses() -> dict[str, set[str]]:
    """Package of csan_mm -> the packages that its modules import."""
    packages = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    found: dict[str, set[str]] = {package: set() for package in packages}
    for package in packages:
        for path in (PACKAGE / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                targets = {name.split(".")[1] for name in names if name.startswith("csan_mm.")}
                found[package] |= targets & set(packages) - {package}
    return found


def layers(graph: dict[str, set[str]]) -> list[list[str]]:
    """The packages in rows, each below all that it is used by: the first row uses nothing of csan_mm.

    Raises:
        ValueError: Packages that use each other in a circle.
    """
    rows: list[list[str]] = []
    left = dict(graph)
    while left:
        row = [name for name, targets in left.items() if not targets & set(left)]
        if not row:
            raise ValueError(f"these packages use each other in a circle: {', '.join(left)}")
        rows.append(row)
        left = {name: targets for name, targets in left.items() if name not in row}
    return rows


def draw_packages(path: Path) -> None:
    """Which package uses which; arrows that follow from two others are left out."""
    graph = uses()
    rows = layers(graph)
    place = {name: ((i + 0.5) / len(row) * 10, 1.2 * y) for y, row in enumerate(rows) for i, name in enumerate(row)}
    figure = Figure(figsize=(10, 1.1 * len(rows) + 0.4), layout="constrained")
    panel = figure.subplots()
    for name, targets in graph.items():
        for target in targets:
            if not any(target in graph[other] for other in targets - {target}):
                panel.annotate(
                    "",
                    place[target],
                    place[name],
                    arrowprops={"arrowstyle": "-|>", "color": "grey", "shrinkA": 12, "shrinkB": 14},
                )
    for name, (x, y) in place.items():
        _box(panel, x, y, name, 1.5, 0.5, "#dfe7f5")
    _finish(panel, figure, path, (0, 10), (-0.5, 1.2 * (len(rows) - 1) + 0.5))


def draw_backbone(name: str, path: Path) -> None:
    """What a backbone is made of, read off the network itself: stem, stages, mixers, and the maps that leave."""
    with torch.device("meta"):
        backbone = csan_mm.get_backbone(name)
    stages = _stages(backbone)
    figure = Figure(figsize=(2.4 * (len(stages) + 2), 2.6), layout="constrained")
    panel = figure.subplots()
    texts = ["image\n3 x H x W", f"stem\n{type(backbone.patch_embed).__name__}", *[text for text, _ in stages]]
    for i, text in enumerate(texts):
        _box(panel, 2.4 * i, 0, text, 2.0, 1.1, "#f3f3f3" if i == 0 else "#dfe7f5")
        if i:
            panel.annotate("", (2.4 * i - 1, 0), (2.4 * i - 1.4, 0), arrowprops={"arrowstyle": "-|>"})
    for i, (_, leaves) in enumerate(stages, start=2):
        if leaves:
            panel.annotate(
                leaves, (2.4 * i, 0.55), (2.4 * i, 1.2), ha="center", fontsize=8, arrowprops={"arrowstyle": "<|-"}
            )
    panel.set_title(f"{name} ({type(backbone).__name__})", fontsize=10)
    _finish(panel, figure, path, (-1.2, 2.4 * (len(texts) - 1) + 1.2), (-0.8, 1.5))


def _stages(backbone: DenseBackbone) -> list[tuple[str, str]]:
    """Text of each stage, and of the map that leaves behind it."""
    isotropic = set(backbone.depths) == {1}
    depths = [len(backbone.depths)] if isotropic else backbone.depths
    levels = [len(backbone.depths) - 1] if isotropic else list(range(len(backbone.depths)))
    blocks = _blocks(backbone)
    stages = []
    for i, (depth, level) in enumerate(zip(depths, levels)):
        own, blocks = blocks[:depth], blocks[depth:]
        kinds = dict.fromkeys(_mixing(block) for block in own)
        width = dict(zip(backbone.out_indices, backbone.channels))[level]
        stride = dict(zip(backbone.out_indices, backbone.strides))[level]
        title = f"{depth} blocks" if isotropic else f"stage {i + 1}: {depth} blocks"
        stages.append((f"{title}\n{width} channels\n{' / '.join(kinds)}", f"{width} x H/{stride} x W/{stride}"))
    return stages


def _blocks(backbone: DenseBackbone) -> list[torch.nn.Module]:
    if hasattr(backbone, "blocks"):
        return list(backbone.blocks)
    return [block for stage in backbone.layers for block in stage.blocks]


def _mixing(block: torch.nn.Module) -> str:
    """What mixes the tokens of a block, in a word."""
    attn = getattr(block, "attn", None)
    if isinstance(attn, TokenMixer):
        return type(attn).__name__
    if attn is not None:
        return {"MALAOperator": "MALA", "SoftmaxOperator": "softmax"}[type(attn.operator).__name__]
    return "dynamic" if block.dynamic else "static"


def _box(panel: Any, x: float, y: float, text: str, width: float, height: float, colour: str) -> None:
    corner = (x - width / 2, y - height / 2)
    panel.add_patch(FancyBboxPatch(corner, width, height, boxstyle="round,pad=0.02", fc=colour, ec="#5b6b8c"))
    panel.text(x, y, text, ha="center", va="center", fontsize=8)


def _finish(panel: Any, figure: Figure, path: Path, across: Sequence[float], up: Sequence[float]) -> None:
    panel.set(xlim=across, ylim=up)
    panel.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
