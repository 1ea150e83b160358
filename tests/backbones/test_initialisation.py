"""How every parameter of every family starts: mean and spread against a table made from the papers and their code."""

import math
import re

import pytest
import torch
from torch import Tensor, nn

from csan_mm.backbones import CBT, HieraCSaN, MAViT, SwinCSaN, ViTCSaN, WeightFormer

PYRAMID = {"embed_dims": 32, "depths": (1, 2, 1, 1), "num_heads": (1, 2, 4, 8)}
MAVIT = {"embed_dims": (32, 64, 64, 64), "depths": (1, 1, 1, 1), "num_heads": (1, 2, 2, 2)}
FLAT = {"embed_dims": 64, "depth": 2, "num_heads": 2}
WEIGHTS = {"embed_dims": 64, "depth": 3}

ZERO, ONE, SMALL, NORMAL = (0.0, 0.0), (1.0, 0.0), (0.0, 0.02), (0.0, 1.0)
#: torch's own start of Linear and Conv2d: uniform, of spread 1 / sqrt(3 fan-in), the bias too. The fan-in is its module's.
TORCH = "torch"
#: kaiming_uniform_ as ISTA's authors call it: spread sqrt(2 / fan-in).
KAIMING = "kaiming"

NORMS = {r"(.*\.)?norm\d?(\.norm)?\.weight": ONE, r"(.*\.)?norm\d?(\.norm)?\.bias": ZERO}
#: Linear layers of CSaN (section 1 of its spec) and of Swin, ViT, Hiera.
LINEAR = {
    r".*\.(qkv|u|reduce|act\.proj|ka|kv|magk|temp|proj|fc1|fc2|reduction)\.weight": SMALL,
    r".*\.(qkv|u|reduce|act\.proj|ka|kv|magk|temp|proj|fc1|fc2)\.bias": ZERO,
}
PATCHES = {r"patch_embed\.proj\.(weight|bias)": TORCH}

#: Family -> how it is built, and pattern of names -> (mean, spread). The first pattern that fits counts.
FAMILIES = {
    "swin": (
        lambda: SwinCSaN(PYRAMID, version="v2"),
        {r".*relative_position_bias_table": SMALL, r".*\.posinfo\.(weight|bias)": TORCH, **PATCHES, **NORMS, **LINEAR},
    ),
    "vit": (
        lambda: ViTCSaN(FLAT),
        {r"cls_token": (0.0, 1e-6), r"pos_embed": SMALL, **PATCHES, **NORMS, **LINEAR},
    ),
    "vit-cbsa-adapted": (
        lambda: ViTCSaN(FLAT, mixer="cbsa-adapted"),
        {r"cls_token": (0.0, 1e-6), r"pos_embed": SMALL, **PATCHES, **NORMS, **LINEAR},
    ),
    "hiera": (lambda: HieraCSaN({**PYRAMID, "num_heads": 1}), {r"pos_embed": SMALL, **PATCHES, **NORMS, **LINEAR}),
    "mavit": (
        lambda: MAViT(MAVIT),
        {
            r".*\.gamma_\d": ONE,
            # Batch norms of the stem.
            r"patch_embed\.proj\.(1|4|7|10)\.weight": ONE,
            r"patch_embed\.proj\.(1|4|7|10)\.bias": ZERO,
            **NORMS,
            r".*\.weight": SMALL,
            r".*\.bias": ZERO,
        },
    ),
    "weightformer": (
        lambda: WeightFormer(WEIGHTS),
        {
            r"blocks\.1\.(linear1|dwc)\.(w|b|w1|w2)": SMALL,
            r"blocks\.1\.linear1\.wfm\.weight": SMALL,
            r"blocks\.1\.linear1\.wfm\.bias": ZERO,
            r"blocks\.1\.dwc\.wfm\.\d\.(weight|bias)": TORCH,
            r"blocks\.\d\.dwc\.(weight|bias)": TORCH,
            r".*\.linear[12]\.weight": SMALL,
            r".*\.linear[12]\.bias": ZERO,
            r"init_norm\.weight": ONE,
            r"init_norm\.bias": ZERO,
            **PATCHES,
            **NORMS,
        },
    ),
    "cbt": (
        lambda: CBT(FLAT),
        {
            r"(pos_embed|cls_token)": NORMAL,
            r".*\.step_(x|rep)": NORMAL,
            r".*\.ista\.weight": KAIMING,
            r".*\.attn\.(proj|to_out)\.(weight|bias)": TORCH,
            r"patch_embed\.proj\.\d\.0\.weight": TORCH,
            r"patch_embed\.proj\.\d\.1\.weight": ONE,
            r"patch_embed\.proj\.\d\.1\.bias": ZERO,
            **NORMS,
        },
    ),
}


def fan_in(model: nn.Module, name: str) -> int:
    """Fan-in of the weight beside a parameter."""
    weight = model.get_submodule(name.rpartition(".")[0]).weight
    return weight[0].numel()


def expected(model: nn.Module, name: str, table: dict) -> tuple[float, float]:
    kind = next((kind for pattern, kind in table.items() if re.fullmatch(pattern, name)), None)
    assert kind is not None, f"{name} is in no row of the table"
    if kind == TORCH:
        return 0.0, (3 * fan_in(model, name)) ** -0.5
    return (0.0, (2 / fan_in(model, name)) ** 0.5) if kind == KAIMING else kind


def assert_starts(name: str, values: list[Tensor], mean: float, spread: float) -> None:
    """Within six standard errors of a normal distribution, which all of these stay below."""
    found = torch.cat([value.detach().double().flatten() for value in values])
    error = 6 * max(spread, 1e-12) / math.sqrt(found.numel())
    assert abs(float(found.mean()) - mean) <= error, f"{name}: mean {float(found.mean())}, expected {mean}"
    deviation = float((found - mean).square().mean().sqrt())
    assert abs(deviation - spread) <= error, f"{name}: spread {deviation}, expected {spread}"


@pytest.mark.parametrize("family", FAMILIES)
def test_mean_and_spread_of_every_parameter(family: str) -> None:
    build, table = FAMILIES[family]
    torch.manual_seed(0)
    models = [build() for _ in range(4)]  # small parameters, such as step sizes, say more four times
    states = [dict(model.named_parameters()) for model in models]
    for name in states[0]:
        assert_starts(name, [state[name] for state in states], *expected(models[0], name, table))
    used = {next(p for p in table if re.fullmatch(p, name)) for name in states[0]}
    own = set(table) - set(LINEAR) - set(NORMS)
    assert used >= own, f"rows of the table that nothing has: {own - used}"
