"""The sweep over numbers of heads: ``heads=`` builds the network that an ``arch`` with these numbers names."""

import pytest
import torch

from csan_mm.backbones import HieraCSaN, SwinCSaN, ViTCSaN

STAGES = {"embed_dims": 48, "depths": (1, 1), "num_heads": (1, 2)}


def shapes(model: torch.nn.Module) -> dict[str, torch.Size]:
    return {name: value.shape for name, value in model.state_dict().items()}


def heads_of(model: torch.nn.Module) -> list[int]:
    return [module.num_heads for module in model.modules() if hasattr(module, "query_pool")]


@pytest.mark.parametrize(
    ("heads", "wanted"), [(None, [1, 2]), (3, [3, 6]), ((4, 1), [4, 1]), ([2, 8], [2, 8])], ids=str
)
def test_swin(heads, wanted):
    model = SwinCSaN(STAGES, heads=heads, out_indices=1)
    assert heads_of(model) == wanted
    assert shapes(model) == shapes(SwinCSaN({**STAGES, "num_heads": tuple(wanted)}, out_indices=1))


def test_vit():
    model = ViTCSaN({"embed_dims": 48, "depth": 2, "num_heads": 3}, heads=6, img_size=32)
    assert heads_of(model) == [6, 6]


def test_hiera_tiny_with_three_heads_is_tiny_plus():
    with torch.device("meta"):
        swept, named = HieraCSaN("tiny", heads=3, out_indices=3), HieraCSaN("tiny-plus", out_indices=3)
    assert shapes(swept) == shapes(named)
    assert heads_of(swept) == heads_of(named)
    assert sum(parameter.numel() for parameter in swept.parameters()) == 28_332_510


@pytest.mark.parametrize(
    ("kind", "arch", "heads", "message"),
    [
        (SwinCSaN, STAGES, (1, 2, 4), "heads=.* does not fit this backbone: take one number, or one per stage: 2"),
        (ViTCSaN, {"embed_dims": 48, "depth": 2, "num_heads": 3}, 7, "num_heads=7 does not divide embed_dims=48"),
        (HieraCSaN, {**STAGES, "num_heads": 1}, (1, 2), "heads=.* does not fit this backbone: take one number$"),
        (ViTCSaN, {"embed_dims": 48, "depth": 2, "num_heads": 3}, [3], "take one number$"),
    ],
    ids=["length", "divisor", "hiera", "vit"],
)
def test_numbers_that_do_not_fit_are_named(kind, arch, heads, message):
    with pytest.raises(ValueError, match=message):
        kind(arch, heads=heads)
