"""The row-column budget dilemma of attention, and what CSaN does about it (Selection-as-Nonlinearity, CVPR 2026).

Every row i of y_i = sum_j a_ij v_j draws on the same columns v_j. With the gradient g_i = dL/dy_i of a row, a step of column j
lowers the loss of every row that attends to it where some delta has

    g_i . delta < 0    for all i with a_ij > 0,

that is where the rows' gradients lie within an open half-space; a column without such a delta is incompatible: whatever it
becomes, some row pays. A second count looks at the rows alone that attend more than the mean, a_ij > 1/N. The test is a linear
program. Of n random directions in d dimensions all lie in a half-space with the probability 2^(1-n) sum_{k<d} C(n-1, k) (Cover,
1965): nearly always up to n = 1.5 d, hardly ever from 2.5 d on.

In CSaN the rows' gradients reach a column through the public path, as
kpub_i * g_i (mu_j and a_ij are common factors), and token j's own row through the private path besides, as kpriv_j * g_j.

The loss of a backbone without labels is ours: a fixed random projection of its maps.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from csan_mm.analysis.pictures import save_figure
from csan_mm.backbones.base import DenseBackbone
from csan_mm.common.errors import ArgumentError, UserError
from csan_mm.mixers.csan import CSaN
from csan_mm.mixers.softmax import SoftmaxAttention

#: Columns of a head that are tested (ours), evenly spread.
MOST_COLUMNS = 8
#: Share of the mean below which a row counts as not attending: of a window's masked pairs e^-100 is left.
NOTHING = 1e-6
#: Margin of the linear program above which a half-space counts as found; rows have length 1, delta at most 1 in each axis.
MARGIN = 1e-7


def is_compatible(gradients: Tensor) -> bool:
    """Whether one step lowers the loss of every row: whether a delta has g_i . delta < 0 for all rows of ``gradients``.

    The largest margin t with g_i . delta <= -t, |delta_k| <= 1 is found by scipy's linear programming. Rows of length 0 ask for
    nothing.

    Args:
        gradients: One gradient per row (n, d).

    Raises:
        UserError: scipy is not installed.
    """
    try:
        from scipy.optimize import linprog
    except ImportError as error:
        raise UserError("scipy, whose linear programming is the test, is not installed: pip install scipy") from error
    lengths = gradients.norm(dim=-1, keepdim=True)
    rows = (gradients / lengths)[lengths.squeeze(-1) > 0].double().cpu().numpy()
    if len(rows) == 0:
        return True
    n, d = rows.shape
    table = torch.cat([torch.from_numpy(rows), torch.ones(n, 1, dtype=torch.double)], dim=1).numpy()
    found = linprog([0.0] * d + [-1.0], A_ub=table, b_ub=[0.0] * n, bounds=[(-1, 1)] * d + [(None, 1)], method="highs")
    return bool(-found.fun > MARGIN)


class Columns(NamedTuple):
    """How some value columns fare.

    Attributes:
        incompatible: How many have no step that serves all their rows.
        tested: How many were looked at; a column to which no row attends is not.
        rows: Number of rows that attend to a tested column, summed up.
    """

    incompatible: int
    tested: int
    rows: int


def count_columns(attention: Tensor, gradients: Tensor, most: int, above: float = NOTHING) -> Columns:
    """Test value columns of one head.

    Args:
        attention: a (n, N), rows that sum to 1.
        gradients: g (n, d), the gradient of the loss for each row's output.
        most: Test at most so many columns, evenly spread.
        above: Rows count that attend more than this share of the mean 1/N. Default: all that are not masked.
    """
    N = attention.shape[-1]
    incompatible = tested = rows = 0
    for j in torch.linspace(0, N - 1, min(most, N)).round().long().tolist():
        attending = attention[:, j] * N > above
        count = int(attending.sum())
        if count:
            tested, rows = tested + 1, rows + count
            incompatible += not is_compatible(gradients[attending])
    return Columns(incompatible, tested, rows)


def private_share(public: Tensor, private: Tensor) -> float:
    """Share of the gradient for the values that comes by the private path: sum |private_j| / sum (|public_j| + |private_j|).

    Args:
        public: dL/dv by the public path (..., N, d).
        private: dL/dv by the private path (..., N, d).
    """
    by_public, by_private = float(public.norm(dim=-1).sum()), float(private.norm(dim=-1).sum())
    return by_private / (by_public + by_private) if by_public + by_private else 0.0


def measure(
    backbone: DenseBackbone, images: Sequence[Tensor], seed: int = 0, most: int = MOST_COLUMNS
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One row per layer: both shares of incompatible columns, how many were tested, rows per column, the private path's share.

    Args:
        backbone: With CSaN or softmax attention, in eval mode.
        images: (3, H, W) each, normalised.
        seed: Of the loss's projection. Default: 0.
        most: Columns of each head that are tested. Default: 8.

    Raises:
        ValueError: Neither CSaN nor softmax attention in the backbone, or attention that pools its queries.
    """
    totals: dict[str, list[Any]] = {}
    for image in images:
        for name, mixer, x, mask, gradient in _row_gradients(backbone, image, seed):
            columns, strong, share = _layer(mixer, x, mask, gradient, most)
            own = totals.setdefault(name, [[], [], []])
            own[0] += columns
            own[1] += strong
            own[2] += [] if share is None else [share]
    if not totals:
        raise ArgumentError(
            f"{type(backbone).__name__} has no attention to test here: take one with mixer='softmax' or 'csan'"
        )
    rows = []
    for name, (columns, strong, shares) in totals.items():
        tested = sum(own.tested for own in columns)
        rows.append(
            {
                "layer": name,
                "incompatible": sum(own.incompatible for own in columns) / max(tested, 1),
                "incompatible, rows above the mean": sum(own.incompatible for own in strong)
                / max(sum(own.tested for own in strong), 1),
                "columns": tested,
                "rows per column": sum(own.rows for own in columns) / max(tested, 1),
                "private share": sum(shares) / len(shares) if shares else None,
            }
        )
    return rows, rows


def _row_gradients(
    backbone: DenseBackbone, image: Tensor, seed: int
) -> list[tuple[str, nn.Module, Tensor, Tensor | None, Tensor]]:
    """Name, mixer, tokens, mask, and dL/dm of each attention, m (B, n, C) what its last projection gets."""
    mixers = {
        name: module
        for name, module in backbone.named_modules()
        if isinstance(module, (CSaN, SoftmaxAttention)) and module.query_pool == 1
    }
    calls: dict[str, list[Any]] = {name: [] for name in mixers}

    def entered(name: str) -> Any:
        return lambda _, inputs: calls[name].extend([inputs[0].detach(), inputs[2] if len(inputs) > 2 else None])

    def merged(name: str) -> Any:
        def listen(_: nn.Module, inputs: tuple[Any, ...]) -> None:
            inputs[0].retain_grad()
            calls[name].append(inputs[0])

        return listen

    handles = [mixer.register_forward_pre_hook(entered(name)) for name, mixer in mixers.items()]
    handles += [mixer.proj.register_forward_pre_hook(merged(name)) for name, mixer in mixers.items()]
    try:
        with torch.enable_grad():
            loss = random_projection(backbone(image[None].requires_grad_()), seed)
            loss.backward()
    finally:
        for handle in handles:
            handle.remove()
        backbone.zero_grad(set_to_none=True)
    return [(name, mixers[name], x, mask, m.grad) for name, (x, mask, m) in calls.items()]


def random_projection(maps: Sequence[Tensor], seed: int) -> Tensor:
    """A scalar that depends on every entry of every map: their product with fixed random signs, each map's mean."""
    generator = torch.Generator().manual_seed(seed)
    terms = []
    for y in maps:
        signs = torch.randint(0, 2, y.shape, generator=generator) * 2 - 1
        terms.append((y * signs.to(y)).mean())
    return torch.stack(terms).sum()


@torch.no_grad()
def _layer(
    mixer: CSaN | SoftmaxAttention, x: Tensor, mask: Tensor | None, gradient: Tensor, most: int
) -> tuple[list[Columns], list[Columns], float | None]:
    g = mixer.split_heads(gradient)  # (B, H, n, d)
    if isinstance(mixer, CSaN):
        trace = mixer.trace(x, mask)
        s = trace.q @ trace.k.transpose(-2, -1) if trace.scores is None else trace.scores
        attention = (trace.tau * s).softmax(dim=-1)  # (B, H, n, N)
        private = trace.kpriv * g
        public_rows = trace.kpub * g
        share = private_share(trace.mu * (attention.transpose(-2, -1) @ public_rows), private)
    else:
        q, k, _ = mixer.queries_keys_values(x)
        bias = mixer.score_bias(x.shape[0], mask)
        s = mixer.scale * q @ k.transpose(-2, -1)
        attention = (s if bias is None else s + bias).softmax(dim=-1)
        public_rows, share = g, None
    picked = torch.linspace(0, x.shape[0] - 1, min(MOST_WINDOWS, x.shape[0])).round().long().tolist()
    places = [(b, h) for b in picked for h in range(attention.shape[1])]
    columns, strong = (
        [count_columns(attention[place], public_rows[place], most, above) for place in places]
        for above in (NOTHING, 1.0)
    )
    return columns, strong, share


#: Windows of an image that are tested (ours), evenly spread.
MOST_WINDOWS = 4


def draw(named: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Write a picture: incompatible columns by layer, and the private path's share of the gradient.

    Args:
        named: Name of a backbone -> its rows.
        path: Where to; its ending says the format.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, rows in named.items():
        (line,) = left.plot([row["incompatible"] for row in rows], marker="o", label=name)
        strong = [row["incompatible, rows above the mean"] for row in rows]
        left.plot(strong, ":", color=line.get_color(), label=f"{name}, rows above the mean")
        private = [(i, row["private share"]) for i, row in enumerate(rows) if row["private share"] is not None]
        if private:
            right.plot(*zip(*private), marker="o", label=name)
    left.set(xlabel="layer", ylabel="share of incompatible columns", ylim=(-0.02, 1.02))
    right.set(xlabel="layer", ylabel="share of the gradient by the private path", ylim=(-0.02, 1.02))
    for panel in (left, right):
        panel.locator_params(axis="x", integer=True)
        panel.grid(alpha=0.3)
        if panel.lines:
            panel.legend()
    save_figure(figure, path)
