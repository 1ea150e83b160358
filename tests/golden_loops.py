"""The published formulas in loops, in float64, straight from the tensors of an official checkpoint.

Nothing of csan_mm is used: these are its second opinion. One image at a time; windows, heads and tokens one by one. x is
(N, C), a map (H, W, C), ``P`` the parameters by their official names. Formulas: CSaN (CVPR 2026), MALA (arXiv 2507.00698),
WeightFormer (arXiv 2605.01711), CBSA (arXiv 2509.16875).
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Parameters = dict[str, Tensor]
Outputs = dict[str, Tensor]


def under(P: Parameters, prefix: str) -> Parameters:
    """The parameters of one module, by their names in it."""
    return {name.removeprefix(prefix): value for name, value in P.items() if name.startswith(prefix)}


def linear(P: Parameters, name: str, x: Tensor) -> Tensor:
    weight = P[f"{name}.weight"]
    y = x @ weight.reshape(weight.shape[0], -1).T
    return y + P[f"{name}.bias"] if f"{name}.bias" in P else y


def layer_norm(P: Parameters, name: str, x: Tensor, eps: float) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * P[f"{name}.weight"] + P[f"{name}.bias"]


def batch_norm(P: Parameters, name: str, x: Tensor) -> Tensor:
    scale = P[f"{name}.weight"] / (P[f"{name}.running_var"] + 1e-5).sqrt()
    return (x - P[f"{name}.running_mean"]) * scale + P[f"{name}.bias"]


def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def softmax(scores: Tensor) -> Tensor:
    weights = (scores - scores.max()).exp()
    return weights / weights.sum()


def mlp(P: Parameters, x: Tensor) -> Tensor:
    return linear(P, "fc2", gelu(linear(P, "fc1", x)))


def zero_padded(x: Tensor, top: int, bottom: int, left: int, right: int) -> Tensor:
    y = x.new_zeros(x.shape[0] + top + bottom, x.shape[1] + left + right, x.shape[2])
    y[top : top + x.shape[0], left : left + x.shape[1]] = x
    return y


def conv(P: Parameters, name: str, x: Tensor, stride: int, padding: int) -> Tensor:
    """A convolution of a map, place by place; depth-wise where its weight has one input channel."""
    weight, (H, W, _) = P[f"{name}.weight"], x.shape
    k = weight.shape[-1]
    x = zero_padded(x, padding, padding, padding, padding)
    rows = []
    for i in range((H + 2 * padding - k) // stride + 1):
        row = []
        for j in range((W + 2 * padding - k) // stride + 1):
            patch = x[i * stride : i * stride + k, j * stride : j * stride + k].permute(2, 0, 1)
            depthwise = weight.shape[1] == 1 and x.shape[2] > 1
            row.append((patch * weight[:, 0]).sum((1, 2)) if depthwise else (patch * weight).sum((1, 2, 3)))
        rows.append(torch.stack(row))
    y = torch.stack(rows)
    return y + P[f"{name}.bias"] if f"{name}.bias" in P else y


def pooled(x: Tensor, rows: int, columns: int) -> Tensor:
    """Adaptive average pooling of a map to rows x columns cells, (rows * columns, C)."""
    (H, W, _), cells = x.shape, []
    for i in range(rows):
        for j in range(columns):
            top, bottom = i * H // rows, -(-(i + 1) * H // rows)
            left, right = j * W // columns, -(-(j + 1) * W // columns)
            cells.append(x[top:bottom, left:right].mean((0, 1)))
    return torch.stack(cells)


def csan(P: Parameters, x: Tensor, heads: int, bias: Tensor | None = None, pool: int = 1) -> Tensor:
    """CSaN's compensated attention; ``pool`` successive tokens share one query (Hiera)."""
    q, k, v = linear(P, "qkv", x).chunk(3, dim=1)
    n, width, u = len(x) // pool, q.shape[1], linear(P, "u", x)
    groups = [range(i * pool, (i + 1) * pool) for i in range(n)]
    q = torch.stack([q[list(group)].amax(0) for group in groups])
    d, part = width // heads, width // 4 // heads
    s, iota = x.new_zeros(heads, n, len(x)), torch.zeros_like(u)
    for h in range(heads):
        own, quarter = slice(h * d, (h + 1) * d), slice(h * part, (h + 1) * part)
        for i, group in enumerate(groups):
            s[h, i] = k[:, own] @ q[i, own] / math.sqrt(d) + (0 if bias is None else bias[h, i])
            e = sum(t if t > 0.25 else 0.25 * math.exp(t / 0.25 - 1) for t in s[h, i].tolist()) / len(x)
            for token in group:
                iota[token, quarter] = e / (1 + (-u[token, quarter]).exp())
    z = linear(P, "reduce", iota)
    bounded = "act.proj.weight" not in P
    z = gelu(z) if bounded else z / (1 + (-linear(P, "act.proj", z)).exp())
    shared = torch.stack([z[list(group)].mean(0) for group in groups])

    def readout(name: str, z: Tensor) -> Tensor:
        return linear(P, name, z).tanh() if bounded else linear(P, name, z)

    tau, kpub, mu, kpriv = (
        1 + readout("temp", shared),
        1 + readout("ka", shared),
        1 + readout("magk", z),
        readout("kv", z),
    )
    y = x.new_zeros(n, width)
    for h in range(heads):
        own = slice(h * d, (h + 1) * d)
        for i, group in enumerate(groups):
            public = (softmax(tau[i, h] * s[h, i]) * mu[:, h]) @ v[:, own] * kpub[i, own]
            y[i, own] = public + sum(v[token, own] * kpriv[token, own] for token in group) / pool
    return linear(P, "proj", y)


def position_bias(table: Tensor, window: int) -> Tensor:
    """Swin's relative position bias, (heads, N, N) for the N tokens of a window."""
    places = [(row, column) for row in range(window) for column in range(window)]
    offset, width = window - 1, 2 * window - 1
    return torch.stack(
        [torch.stack([table[(a - c + offset) * width + b - d + offset] for c, d in places]) for a, b in places]
    ).permute(2, 0, 1)


def region(place: int, side: int, window: int, shift: int) -> int:
    """Which part of the unshifted map a shifted place comes from, along one axis."""
    return 0 if not shift or place < side - window else 1 if place < side - shift else 2


def window_attention(P: Parameters, x: Tensor, heads: int, window: int, shifted: bool) -> Tensor:
    """Swin's (shifted) window attention of a map, filled up with zeros to whole windows."""
    H, W, C = x.shape
    x = zero_padded(x, 0, -H % window, 0, -W % window)
    sides = x.shape[:2]
    shift = [window // 2 if shifted and side > window else 0 for side in (H, W)]
    x = x.roll((-shift[0], -shift[1]), dims=(0, 1))
    attn, y = under(P, "attn."), torch.zeros_like(x)
    bias = position_bias(attn["relative_position_bias_table"], window)
    for top in range(0, sides[0], window):
        for left in range(0, sides[1], window):
            places = [(top + row, left + column) for row in range(window) for column in range(window)]
            part = [tuple(region(p, n, window, s) for p, n, s in zip(place, sides, shift)) for place in places]
            mask = torch.tensor([[0.0 if one == other else -100.0 for other in part] for one in part]).to(bias)
            cut = slice(top, top + window), slice(left, left + window)
            y[cut] = csan(attn, x[cut].reshape(-1, C), heads, bias + mask).reshape(window, window, C)
    if "posinfo.weight" in P:
        y = conv(P, "posinfo", y, 1, 3)
    return y.roll((shift[0], shift[1]), dims=(0, 1))[:H, :W]


def swin(P: Parameters, image: Tensor, depths: tuple[int, ...], heads: tuple[int, ...], window: int) -> Outputs:
    """Swin-CSaN of either version; image (3, H, W) whose sides are multiples of 32."""
    x = layer_norm(P, "patch_embed.norm", conv(P, "patch_embed.proj", image.permute(1, 2, 0), 4, 0), 1e-5)
    outputs = {}
    for i, depth in enumerate(depths):
        if i:
            cells = torch.cat([x[0::2, 0::2], x[1::2, 0::2], x[0::2, 1::2], x[1::2, 1::2]], dim=-1)
            down = under(P, f"layers.{i}.downsample.")
            x = linear(down, "reduction", layer_norm(down, "norm", cells, 1e-5))
        for j in range(depth):
            block = under(P, f"layers.{i}.blocks.{j}.")
            x = x + window_attention(block, layer_norm(block, "norm1", x, 1e-5), heads[i], window, j % 2 == 1)
            x = x + mlp(under(block, "mlp."), layer_norm(block, "norm2", x, 1e-5))
        outputs[f"stage{i}"] = x.permute(2, 0, 1)
    return {**outputs, "final_norm": layer_norm(P, "norm", x, 1e-5).permute(2, 0, 1)}


def vit(P: Parameters, image: Tensor, depth: int, heads: int, patch: int) -> Outputs:
    """ViT-CSaN's tokens, class token first."""
    x = conv(P, "patch_embed.proj", image.permute(1, 2, 0), patch, 0).flatten(0, 1)
    x, outputs = torch.cat([P["cls_token"][0], x]) + P["pos_embed"][0], {}
    for i in range(depth):
        block = under(P, f"blocks.{i}.")
        x = x + csan(under(block, "attn."), layer_norm(block, "norm1", x, 1e-6), heads)
        x = outputs[f"block{i}"] = x + mlp(under(block, "mlp."), layer_norm(block, "norm2", x, 1e-6))
    return {**outputs, "final_norm": layer_norm(P, "norm", x, 1e-6)}


def unit_attention(P: Parameters, x: Tensor, heads: int, unit: int, pools: bool) -> Tensor:
    """Hiera's attention within mask units of a map; the four cells of a query's group stand in succession."""
    H, W, _ = x.shape
    rows = []
    for top in range(0, H, unit):
        row = []
        for left in range(0, W, unit):
            cells = x[top : top + unit, left : left + unit]
            step = 2 if pools else 1
            side = unit // step
            groups = [
                cells[step * a + r, step * b + c]
                for a in range(side)
                for b in range(side)
                for r in range(step)
                for c in range(step)
            ]
            row.append(csan(P, torch.stack(groups), heads, pool=step**2).unflatten(0, (side, side)))
        rows.append(torch.cat(row, dim=1))
    return torch.cat(rows)


def hiera(P: Parameters, image: Tensor, depths: tuple[int, ...], heads: int) -> Outputs:
    """Hiera-CSaN of a square image; mask units of 8 x 8 in the first stage."""
    x = conv(P, "patch_embed.proj", image.permute(1, 2, 0), 4, 3)
    x = x + P["pos_embed"][0].reshape(x.shape)
    outputs, number = {}, 0
    for i, depth in enumerate(depths):
        for j in range(depth):
            block, pools = under(P, f"blocks.{number}."), i > 0 and j == 0
            # The first block of a stage has the mask units of the stage before.
            stage = i - 1 if pools else i
            unit = 8 // 2**stage if stage < 2 else x.shape[0]
            y = layer_norm(block, "norm1", x, 1e-6)
            if pools:
                wide = linear(block, "proj", y)
                x = torch.stack([wide[a::2, b::2] for a in (0, 1) for b in (0, 1)]).amax(0)
            x = x + unit_attention(under(block, "attn."), y, heads * 2**i, unit, pools)
            x = x + mlp(under(block, "mlp."), layer_norm(block, "norm2", x, 1e-6))
            number += 1
        outputs[f"stage{i}"] = x.permute(2, 0, 1)
    return outputs


def images_one_by_one(formula: Callable[[Tensor], Outputs], images: Tensor) -> Outputs:
    """The outputs of a batch, (B, ...) each."""
    single = [formula(image) for image in images]
    return {name: torch.stack([outputs[name] for outputs in single]) for name in single[0]}
