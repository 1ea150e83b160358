"""What the length of a query does to its row of attention (MALA, ICCV 2025, arXiv 2507.00698, section 3).

With r = d^-0.5, phi = ELU + 1 and q~ = phi(q), k~ = phi(k), rows A_ij of N keys:

    softmax        softmax_j(r q_i . k_j)                  a longer q_i: sharper
    unit queries   softmax_j(r q_i / |q_i| . k_j)          the length is divided out
    linear         q~_i . k~_j / sum_m q~_i . k~_m         the length is divided out
    mala           beta_i r q~_i . k~_j / N - gamma_i      z_i = r q~_i . mean_j(k~_j), beta_i = 1 + 1/z_i, gamma_i = z_i / N

The length of a query is |q_i| for the first two and |q~_i| for the last two. Positions (bias, rotation) are left out, so that all
kinds see the same q and k. What is measured of a row:

    entropy        - sum_j p_ij log p_ij,  p_ij = |A_ij| / sum_m |A_im|; a row of MALA sums to 1 and may have negative entries
    sharpness      N std_j(A_ij): 0 where all keys have the same, sqrt(N - 1) where one has all; MALA's grows linearly with |q~_i|
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from csan_mm.analysis.pictures import as_picture, save_figure, spread_out
from csan_mm.backbones.base import DenseBackbone
from csan_mm.backbones.mavit import GatedAttention, apply_nchw
from csan_mm.common.checks import check_choice
from csan_mm.common.errors import ArgumentError
from csan_mm.mixers.csan import CSaN
from csan_mm.mixers.linear import KERNELS, LinearAttention, safe_inverse
from csan_mm.mixers.mala import MALA
from csan_mm.mixers.softmax import SoftmaxAttention

KINDS = ("softmax", "unit queries", "linear", "mala")
#: By how much queries are lengthened.
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
#: Queries of a layer whose rows are formed (ours), evenly spread.
MOST_ROWS = 64


def attention_rows(q: Tensor, k: Tensor, kind: str, factor: float = 1.0) -> Tensor:
    """Rows A of some queries: (..., R, d), (..., N, d) -> (..., R, N).

    Args:
        q: Queries as a projection gives them, not scaled.
        k: Keys.
        kind: One of 'softmax', 'unit queries', 'linear', 'mala'.
        factor: By which the queries are lengthened: q, or phi(q) in 'linear' and 'mala'. Default: 1.

    Raises:
        ValueError: Another kind.
    """
    check_choice("kind", kind, KINDS)
    r, N = q.shape[-1] ** -0.5, k.shape[-2]
    if kind in ("softmax", "unit queries"):
        q = factor * q
        q = normalize(q, dim=-1) if kind == "unit queries" else q
        return (r * q @ k.transpose(-2, -1)).softmax(dim=-1)
    phi = KERNELS["elu+1"]
    s = factor * r * phi(q) @ phi(k).transpose(-2, -1) / N  # (..., R, N)
    z = s.sum(dim=-1, keepdim=True)
    inverse = safe_inverse(z)
    return s * inverse if kind == "linear" else (1 + inverse) * s - z / N


def shares(rows: Tensor) -> Tensor:
    """p_ij = |A_ij| / sum_m |A_im|."""
    return rows.abs() / rows.abs().sum(dim=-1, keepdim=True)


def entropy(rows: Tensor) -> Tensor:
    """Entropy of each row's shares in nats: (..., N) -> (...); 0 where one key has all, log N where all have the same."""
    return torch.special.entr(shares(rows)).sum(dim=-1)


def sharpness(rows: Tensor) -> Tensor:
    """N times the standard deviation of each row: (..., N) -> (...); 0 where all keys have the same."""
    return rows.shape[-1] * rows.std(dim=-1, correction=0)


#: What is measured of a row.
MEASURES = {"entropy": entropy, "sharpness": sharpness}


class Heads(NamedTuple):
    """Queries and keys of one attention layer for one image.

    Attributes:
        name: The layer's name in the backbone.
        kind: Which of :data:`KINDS` it is; CSaN counts as 'softmax'.
        q: (B, H, N, d), B windows where it works in windows.
        k: (B, H, N, d).
        grid: (rows, columns) of the tokens; prefix tokens stand in front of them.
    """

    name: str
    kind: str
    q: Tensor
    k: Tensor
    grid: tuple[int, int]


@torch.no_grad()
def queries_and_keys(backbone: DenseBackbone, image: Tensor) -> list[Heads]:
    """q and k of every attention layer that has one query for each token, in the order of the layers.

    Args:
        backbone: In eval mode.
        image: (3, H, W), normalised.

    Raises:
        ValueError: No such layer.
    """
    found: list[Heads] = []
    handles = [
        module.register_forward_pre_hook(_listener(name, module, found))
        for name, module in backbone.named_modules()
        if _kind(module) and getattr(module, "query_pool", 1) == 1
    ]
    if not handles:
        raise ArgumentError(
            f"{type(backbone).__name__} has no queries and keys here: take one with mixer='softmax', 'csan', 'linear' or 'mala'"
        )
    try:
        backbone(image[None])
    finally:
        for handle in handles:
            handle.remove()
    return found


def _kind(module: nn.Module) -> str | None:
    if isinstance(module, GatedAttention):
        name = type(module.operator).__name__
        return {"MALAOperator": "mala", "LinearOperator": "linear", "SoftmaxOperator": "softmax"}[name]
    if isinstance(module, SoftmaxAttention):
        return "unit queries" if module.unit_queries else "softmax"
    kinds = {MALA: "mala", LinearAttention: "linear", CSaN: "softmax"}
    return next((kind for mixer, kind in kinds.items() if isinstance(module, mixer)), None)


def _listener(name: str, module: nn.Module, found: list[Heads]) -> Any:
    def listen(attention: nn.Module, inputs: tuple[Any, ...]) -> None:
        x = inputs[0]
        if isinstance(attention, GatedAttention):
            q, k, _, _ = apply_nchw(attention.qkvo, x).chunk(4, dim=-1)
            q, k, grid = attention.split_heads(q), attention.split_heads(k), tuple(x.shape[1:3])
        else:
            q, k, _ = attention.queries_keys_values(x)
            grid = inputs[1]
        found.append(Heads(name, _kind(attention), q.float(), k.float(), grid))

    return listen


def some_rows(x: Tensor, most: int = MOST_ROWS) -> Tensor:
    """At most so many of the tokens (..., N, d), evenly spread."""
    count = min(most, x.shape[-2])
    return x[..., torch.linspace(0, x.shape[-2] - 1, count).round().long(), :]


def measure(backbone: DenseBackbone, images: Sequence[Tensor]) -> tuple[list[dict[str, Any]], Any]:
    """By layer, the means of each kind against the factor, and how sharpness goes with a query's length as the layer has it.

    Returns:
        Rows for JSON, and what the picture shows: rows, first image, its queries and keys.
    """
    every = [queries_and_keys(backbone, image) for image in images]
    rows = []
    for layer in zip(*every):
        q = [some_rows(own.q) for own in layer]
        curves = {name: {kind: _curve(q, layer, kind, of) for kind in KINDS} for name, of in MEASURES.items()}
        kind = layer[0].kind
        lengths = torch.cat([_length(a, kind).flatten() for a in q])
        sharp = torch.cat([sharpness(attention_rows(a, own.k, kind)).flatten() for a, own in zip(q, layer)])
        rows.append(
            {
                "layer": layer[0].name,
                "kind": kind,
                "keys": layer[0].k.shape[-2],
                "length of a query": float(lengths.mean()),
                "correlation of length and sharpness": correlation(lengths, sharp),
                **curves,
            }
        )
    return rows, (rows, images[0], every[0])


def _curve(q: Sequence[Tensor], layer: Sequence[Heads], kind: str, of: Callable[[Tensor], Tensor]) -> list[float]:
    """Mean over rows, heads and images, for each factor."""
    means = [[of(attention_rows(a, own.k, kind, factor)).mean() for a, own in zip(q, layer)] for factor in FACTORS]
    return [float(torch.stack(own).mean()) for own in means]


def _length(q: Tensor, kind: str) -> Tensor:
    return (KERNELS["elu+1"](q) if kind in ("linear", "mala") else q).norm(dim=-1)


def correlation(x: Tensor, y: Tensor) -> float | None:
    """Pearson's correlation; ``None`` where one of the two does not vary."""
    if min(float(x.std(correction=0)), float(y.std(correction=0))) < 1e-6 * max(1.0, float(y.abs().mean())):
        return None
    return float(torch.corrcoef(torch.stack([x, y]))[0, 1])


def centre_row(heads: Heads, kind: str) -> Tensor:
    """Where the token in the middle of the first window, or of the map, looks: (rows, columns), mean over the heads."""
    rows, columns = heads.grid
    prefix = heads.k.shape[-2] - rows * columns
    query = heads.q[:1, :, prefix + (rows // 2) * columns + columns // 2, None]  # (1, H, 1, d)
    return attention_rows(query, heads.k[:1], kind)[0, :, 0, prefix:].mean(dim=0).unflatten(0, (rows, columns))


def draw(named: dict[str, tuple[list[dict[str, Any]], Tensor, list[Heads]]], path: Path) -> None:
    """Write a picture: for each backbone some layers; entropy and sharpness against the factor, then the centre's rows.

    Args:
        named: Name of a backbone -> what :func:`measure` gives for the picture.
        path: Where to; its ending says the format.
    """
    from matplotlib.figure import Figure

    lines = [
        (name, image, row, heads)
        for name, (rows, image, every) in named.items()
        for row, heads in spread_out(list(zip(rows, every)))
    ]
    columns = len(MEASURES) + 1 + len(KINDS)
    figure = Figure(figsize=(2.4 * columns, 2.4 * len(lines)), layout="constrained")
    for panels, (name, image, row, heads) in zip(figure.subplots(len(lines), columns, squeeze=False), lines):
        for panel, measured in zip(panels, MEASURES):
            for kind, style in zip(KINDS, ("-", ":", "--", "-")):
                panel.plot(FACTORS, row[measured][kind], style, marker=".", label=kind)
            panel.set_xscale("log", base=2)
            panel.set_title(f"{name}\n{row['layer']} ({row['kind']}): {measured}", fontsize=7)
            panel.set_xlabel("length of the queries", fontsize=7)
            panel.tick_params(labelsize=6)
            panel.legend(fontsize=6)
        maps = panels[len(MEASURES) :]
        maps[0].imshow(as_picture(image))
        maps[0].set_title("image", fontsize=8)
        for panel, kind in zip(maps[1:], KINDS):
            panel.imshow(centre_row(heads, kind).numpy(), cmap="magma")
            panel.set_title(f"{kind}: the centre's row", fontsize=7)
        for panel in maps:
            panel.set_axis_off()
    save_figure(figure, path)
