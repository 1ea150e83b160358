"""The published formulas of the networks whose mixing is linear in the tokens, in loops; see golden_loops.py."""

import math

import torch
from golden_loops import (
    Outputs,
    Parameters,
    batch_norm,
    conv,
    gelu,
    layer_norm,
    linear,
    pooled,
    softmax,
    under,
)
from torch import Tensor


def silu(x: Tensor) -> Tensor:
    return x / (1 + (-x).exp())


def turned(x: Tensor, grid: tuple[int, int]) -> Tensor:
    """2-D rotary embedding of one head's tokens (N, d): the first half turns with the row, the second with the column."""
    y, quarter = torch.zeros_like(x), x.shape[1] // 4
    for n in range(len(x)):
        for m in range(2 * quarter):
            place = n // grid[1] if m < quarter else n % grid[1]
            angle = place * 10000 ** -((m % quarter) / (quarter - 1) if quarter > 1 else 0)
            x0, x1 = x[n, 2 * m], x[n, 2 * m + 1]
            y[n, 2 * m] = x0 * math.cos(angle) - x1 * math.sin(angle)
            y[n, 2 * m + 1] = x1 * math.cos(angle) + x0 * math.sin(angle)
    return y


def mala(q: Tensor, k: Tensor, v: Tensor, grid: tuple[int, int]) -> Tensor:
    """One head of magnitude-aware linear attention, row by row of its N x N form."""
    N, r = len(q), q.shape[1] ** -0.5
    q, k = (torch.where(t > 0, t + 1, t.exp()) for t in (q, k))
    z = [r * float(q_i @ k.mean(0)) for q_i in q]
    q, k = turned(q, grid), turned(k, grid)
    rows = [
        sum(r / N * (q[i] @ k[j]) * v[j] for j in range(N)) * (1 + 1 / (z[i] + 1e-6)) - z[i] * v.mean(0)
        for i in range(N)
    ]
    return torch.stack(rows)


def rotary_softmax(q: Tensor, k: Tensor, v: Tensor, grid: tuple[int, int]) -> Tensor:
    """One head of softmax attention on turned queries and keys."""
    q, k = turned(q, grid), turned(k, grid)
    return torch.stack([softmax(k @ q_i * q.shape[1] ** -0.5) @ v for q_i in q])


def mavit_block(P: Parameters, x: Tensor, heads: int, is_linear: bool) -> Tensor:
    H, W, C = x.shape
    x = x + conv(P, "pos", x, 1, 1)
    attn, y = under(P, "attn."), layer_norm(P, "norm1.norm", x, 1e-6)
    q, k, v, gate = linear(attn, "qkvo", y).chunk(4, dim=-1)
    own = [slice(h * C // heads, (h + 1) * C // heads) for h in range(heads)]
    operator = mala if is_linear else rotary_softmax
    mixed = [operator(*(t[..., part].flatten(0, 1) for t in (q, k, v)), (H, W)) for part in own]
    mixed = torch.cat(mixed, dim=1).reshape(H, W, C) + conv(attn, "lepe", v, 1, 2)
    x = x + P["gamma_1"].flatten() * linear(attn, "proj", mixed * gate)
    ffn, y = under(P, "ffn."), layer_norm(P, "norm2.norm", x, 1e-6)
    y = gelu(linear(ffn, "fc1", y))
    return x + P["gamma_2"].flatten() * linear(ffn, "fc2", y + conv(ffn, "dwconv", y, 1, 1))


def mavit(P: Parameters, image: Tensor, depths: tuple[int, ...], heads: tuple[int, ...]) -> Outputs:
    """MAViT with MALA in its first two stages, and its classifier."""
    stem, x = under(P, "patch_embed.proj."), image.permute(1, 2, 0)
    for number, stride in ((0, 2), (3, 1), (6, 1), (9, 2)):
        x = batch_norm(stem, str(number + 1), conv(stem, str(number), x, stride, 1))
        x = x if number == 9 else gelu(x)
    outputs = {"patch_embed": x.permute(2, 0, 1)}
    for i, depth in enumerate(depths):
        layer = under(P, f"layers.{i}.")
        for j in range(depth):
            x = mavit_block(under(layer, f"blocks.{j}."), x, heads[i], i < 2)
        outputs[f"stage{i}"] = x.permute(2, 0, 1)
        if i < len(depths) - 1:
            x = batch_norm(layer, "downsample.norm", conv(layer, "downsample.reduction", x, 2, 1))
    x = silu(batch_norm(P, "norm", linear(P, "proj", x))).mean((0, 1))
    return {**outputs, "logits": linear(P, "head", x)}


def paired(x: Tensor) -> Tensor:
    """2x2 average pooling of a map, an odd last row or column left out: (n, C)."""
    H, W, _ = x.shape
    return torch.stack(
        [x[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean((0, 1)) for i in range(H // 2) for j in range(W // 2)]
    )


def dynamic_linear(P: Parameters, x: Tensor, grid: tuple[int, int]) -> Tensor:
    """WeightFormer's linear layer by bilateral activation."""
    C = x.shape[1]
    a, b = linear(P, "wfm", paired(x.unflatten(0, grid))).split([C // 4, P["w2"].shape[0]], dim=1)
    A, B = silu(a) @ P["w1"], silu(b) @ P["w2"]
    dW = sum(A[i][:, None] * B[i][None] for i in range(len(A))) * C**-0.5 / len(x)
    return x @ (P["w"] + dW / (dW.square().sum(0).sqrt() + 1)) + P["b"]


def dynamic_conv(P: Parameters, x: Tensor) -> Tensor:
    """WeightFormer's depth-wise convolution by spatially adaptive prediction."""
    dw = linear(P, "wfm.2", gelu(linear(P, "wfm.0", pooled(x, 3, 3)))).T.reshape(-1, 3, 3)
    kernel = P["w"].reshape(-1, 3, 3) + dw / (dw.square().sum((1, 2), keepdim=True).sqrt() + 1)
    return conv({"c.weight": kernel[:, None], "c.bias": P["b"]}, "c", x, 1, 1)


def weightformer(P: Parameters, image: Tensor, depth: int, patch: int) -> Outputs:
    """Tokens of every block, normed, and the logits; a block is dynamic where its parameters are."""
    x = conv(P, "patch_embed.proj", image.permute(1, 2, 0), patch, 0)
    grid, outputs = x.shape[:2], {}
    x = layer_norm(P, "init_norm", x.flatten(0, 1), 1e-6)
    for i in range(depth):
        block = under(P, f"blocks.{i}.")
        dynamic = "norm1.weight" in block
        x = layer_norm(block, "norm1", x, 1e-6) if dynamic else x
        x_map = x.unflatten(0, grid)
        x = x + (dynamic_conv(under(block, "dwc."), x_map) if dynamic else conv(block, "dwc", x_map, 1, 1)).flatten(
            0, 1
        )
        y = layer_norm(block, "norm2", x, 1e-6)
        y = dynamic_linear(under(block, "linear1."), y, grid) if dynamic else linear(block, "linear1", y)
        x = outputs[f"block{i}"] = x + linear(block, "linear2", gelu(y))
    x = layer_norm(P, "norm", x, 1e-6)
    return {**outputs, "final_norm": x, "logits": linear(P, "head", x.mean(0))}


def cbsa(P: Parameters, x: Tensor, heads: int, patches: slice, grid: tuple[int, int], cells: int) -> Tensor:
    """CBSA with cells x cells representatives pooled from x[patches], head by head and token by token."""
    w = linear(P, "proj", x)
    p = w.shape[1] // heads
    y = torch.zeros_like(w)
    for h in range(heads):
        own = slice(h * p, (h + 1) * p)
        tokens = w[:, own]
        rep = pooled(tokens[patches].unflatten(0, grid), cells, cells)
        A = torch.stack([softmax(tokens @ one * p**-0.5) for one in rep])
        rep = torch.stack([one + P["step_rep"].flatten()[h] * (row @ tokens) for one, row in zip(rep, A)])
        contracted = torch.stack([softmax(rep @ one * p**-0.5) @ rep for one in rep])
        y[:, own] = P["step_x"].flatten()[h] * torch.stack([A[:, i] @ contracted for i in range(len(x))])
    return linear(P, "to_out", y)


def cbt(P: Parameters, image: Tensor, depth: int, heads: int) -> Outputs:
    """CBT as published: its representatives are pooled with the class token in and the last patch out."""
    x = image.permute(1, 2, 0)
    for i in (0, 2, 4, 6):
        stem = under(P, f"to_patch_embedding.proj.{i}.")
        x = batch_norm(stem, "1", conv(stem, "0", x, 2, 1))
        x = x if i == 6 else gelu(x)
    grid = x.shape[:2]
    x = torch.cat([P["cls_token"][0], x.flatten(0, 1)]) + P["pos_embedding"][0]
    outputs = {"embed": x}
    for i in range(depth):
        attn, ista = (under(P, f"transformer.layers.{i}.{part}.") for part in (0, 1))
        y = layer_norm(attn, "norm", x, 1e-5)
        x = x + cbsa(under(attn, "fn."), y, heads, slice(0, len(x) - 1), grid, 8)
        y, D = layer_norm(ista, "norm", x, 1e-5), ista["fn.weight"]
        x = torch.stack([(t + 0.1 * (D.T @ t - D.T @ (D @ t)) - 0.01).clamp(min=0) for t in y])
        outputs[f"block{i}"] = x
    return {**outputs, "logits": linear(P, "mlp_head.1", layer_norm(P, "mlp_head.0", x[0], 1e-5))}


def cbt_decoder(P: Parameters, encoded: Tensor, layers: int, heads: int, cells: int) -> Outputs:
    """Class masks (K, H, W) from an encoder's map (C, H, W); classes stand behind the patches."""
    grid, patches = encoded.shape[1:], encoded.flatten(1).T
    x, n = torch.cat([patches, P["cls_emb"][0]]), len(patches)
    for i in range(layers):
        layer = under(P, f"net.layers.{i}.")
        x = x + cbsa(under(layer, "fn."), layer_norm(layer, "norm", x, 1e-5), heads, slice(0, n), grid, cells)
    x = layer_norm(P, "decoder_norm", x, 1e-5)
    x = x / x.square().sum(1, keepdim=True).sqrt()
    masks = layer_norm(P, "mask_norm", x[:n] @ x[n:].T, 1e-5)
    return {"masks": masks.T.unflatten(1, grid)}
