"""CBT: golden numbers, exact parameter counts, the blocks written out, positions, arguments."""

import pytest
import torch
from golden import assert_golden, read_golden
from torch.nn.functional import gelu, layer_norm, linear, relu

from csan_mm.analysis.flops import count_macs, shapes_only
from csan_mm.backbones import CBT
from csan_mm.checkpoint import convert_state_dict

#: arch -> parameters of the 1000-class model (spec).
COUNTS = {"tiny": 1_789_192, "small": 6_667_048, "base": 25_691_752, "large": 83_051_368}
SMALL = {"embed_dims": 16, "depth": 2, "num_heads": 2}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@torch.no_grad()
def test_golden(golden_dir, dtype):
    golden = read_golden(golden_dir, "cbt")
    dims = golden.arch("embed_dims", "depth", "num_heads")
    options = {**golden.arch("img_size"), "legacy_pooling": True}
    prefixed = {f"module.{name}": value for name, value in golden.state.items()}
    state = convert_state_dict(prefixed, "cbsa")
    raw = CBT(dims, **options, out_type="raw", out_indices=(0, 1, 2), final_norm=False).eval().to(dtype)
    model = CBT(dims, **options, out_type="cls_token").eval().to(dtype)
    assert sorted(raw.load_state_dict(state, strict=False).unexpected_keys) == ["norm.bias", "norm.weight"]
    model.load_state_dict(state)
    image = golden.image.to(dtype)
    assert_golden(raw.embed(image)[0], golden.outputs["embed"])
    for i, tokens in enumerate(raw(image)):
        assert_golden(tokens, golden.outputs[f"block{i}"])
    fc = convert_state_dict(golden.state, "cbsa", part="head")
    assert_golden(
        linear(model(image)[0], *(fc[f"fc.{name}"].to(dtype) for name in ("weight", "bias"))), golden.outputs["logits"]
    )


@torch.no_grad()
def test_without_legacy_pooling_the_golden_numbers_are_others(golden_dir):
    golden = read_golden(golden_dir, "cbt")
    dims = golden.arch("embed_dims", "depth", "num_heads")
    model = CBT(dims, **golden.arch("img_size"), out_type="raw", out_indices=0).eval().double()
    model.load_state_dict(convert_state_dict(golden.state, "cbsa"), strict=False)
    with pytest.raises(AssertionError, match="differs by"):
        assert_golden(model(golden.image.double())[0], golden.outputs["block0"])


@pytest.mark.parametrize("arch", COUNTS)
def test_parameter_counts_with_a_classifier(arch):
    from mmpretrain.models.heads import LinearClsHead

    with torch.device("meta"):
        backbone = CBT(arch, out_type="cls_token")
        head = LinearClsHead(1000, backbone.channels[-1])
    assert sum(p.numel() for module in (backbone, head) for p in module.parameters()) == COUNTS[arch]


@pytest.mark.parametrize(("arch", "reported"), [("tiny", 1.1), ("small", 4.0), ("base", 15.1), ("large", 47.3)])
def test_cost_of_the_papers_models(arch, reported):
    """2 MACs of all products in 10^9, as the paper reports them."""
    with shapes_only():
        macs = count_macs(CBT(arch).eval(), torch.empty(1, 3, 224, 224))
    assert 2 * macs / 1e9 == pytest.approx(reported, rel=0.03)


@pytest.mark.parametrize("mixer", ["mssa", "tssa"])
@torch.no_grad()
def test_twins_differ_in_the_mixer_only(mixer):
    ours, twin = CBT(SMALL, img_size=32).eval(), CBT(SMALL, mixer=mixer, img_size=32).eval()
    assert type(twin.blocks[0].attn).__name__ == mixer.upper()
    common = {name: value for name, value in ours.state_dict().items() if ".attn." not in name}
    assert {name for name in twin.state_dict() if ".attn." not in name} == set(common)
    image = torch.randn(1, 3, 32, 48)
    for model in (ours, twin):
        model.load_state_dict(common, strict=False)
        for block in model.blocks:
            for parameter in block.attn.to_out.parameters():
                torch.nn.init.zeros_(parameter)  # the attention adds nothing
    assert torch.equal(ours(image)[0], twin(image)[0])


@torch.no_grad()
def test_stem_and_block_as_the_paper_writes_them():
    model = CBT(SMALL, img_size=(32, 48), out_type="raw", final_norm=False, out_indices=0).eval()
    image = torch.randn(2, 3, 32, 48)
    y = image
    for i, width in zip((0, 2, 4, 6), (2, 4, 8, 16)):
        conv, norm = model.patch_embed.proj[i]
        y = norm(conv(y))
        assert y.shape[1] == width
        y = y if i == 6 else gelu(y)
    x = torch.cat([model.cls_token.expand(2, -1, -1), y.flatten(2).transpose(1, 2)], dim=1) + model.pos_embed
    block = model.blocks[0]
    g = x + block.attn(layer_norm(x, (16,)), (2, 3))
    g, D = layer_norm(g, (16,)), block.ista.weight
    expected = relu(g + 0.1 * (g @ D - g @ D.T @ D) - 0.01)
    torch.testing.assert_close(model(image)[0], expected)


@torch.no_grad()
def test_a_mixer_for_each_block():
    """Each block is that of a network of one mixer, with its weights."""
    mixers = ["mssa", "cbsa", {"type": "cbsa", "contraction": False}]
    options = {"arch": {**SMALL, "depth": 3}, "img_size": 64}
    mixed = CBT(**options, mixer=mixers, legacy_pooling=True).double().eval()
    assert [type(block.attn).__name__ for block in mixed.blocks] == ["MSSA", "CBSA", "CBSA"]
    x, grid = torch.randn(2, 1 + 15, 16, dtype=torch.float64), (3, 5)
    for index, mixer in enumerate(mixers):
        twin = CBT(**options, mixer=mixer, legacy_pooling=mixer != "mssa").double().eval().blocks[index]
        twin.load_state_dict(mixed.blocks[index].state_dict())
        torch.testing.assert_close(mixed.blocks[index](x, grid), twin(x, grid))
    outputs = [block.attn(x, grid) for block in mixed.blocks]
    mixed.blocks[2].load_state_dict(mixed.blocks[1].state_dict())
    assert not torch.allclose(mixed.blocks[2].attn(x, grid), outputs[1])  # the contraction makes a difference


@torch.no_grad()
def test_positions_are_resized_from_their_own_grid():
    """A ramp along the rows of a 4 x 2 grid stays one along the rows of a larger grid; the class row stays what it is."""
    model = CBT(SMALL, img_size=(64, 32)).eval()
    for parameter in (model.cls_token, *model.patch_embed.parameters()):
        torch.nn.init.zeros_(parameter)
    model.pos_embed[:, 0] = 7.0
    model.pos_embed[:, 1:] = torch.arange(4.0).repeat_interleave(2)[None, :, None]
    tokens, grid = model.embed(torch.zeros(1, 3, 128, 64))
    assert grid == (8, 4)
    assert torch.equal(tokens[0, 0], torch.full((16,), 7.0))
    rows = tokens[0, 1:, 0].unflatten(0, grid)
    assert (rows.diff(dim=0) > 0).all()
    torch.testing.assert_close(rows, rows[:, :1].expand(-1, 4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arch": "huge"}, "arch='huge' is unknown: take one of tiny, small, base, large"),
        ({"arch": {**SMALL, "embed_dims": 12}}, "take a multiple of 8"),
        ({"mixer": "cbs"}, "mixer='cbs'|mixer={'type': 'cbs'} is unknown: take one of cbsa"),
        (
            {"mixer": "mssa", "legacy_pooling": True},
            "legacy_pooling=True changes nothing: .* a mixer of cbsa, cbsa-adapted",
        ),
        ({"mixer": ["mssa"]}, "has 1 entries for 2 blocks: give one for each, or one for all"),
        ({"mixer": ["mssa", {"rep_grid": 3}]}, "has no name: take one of"),
        ({"mixer": ["mssa", {"type": "cbsa", "rep": 3}]}, "no option rep"),
        ({"with_cls_token": False, "legacy_pooling": True}, "legacy_pooling=True pools the class token too"),
        ({"with_cls_token": False, "out_type": "cls_token"}, "out_type='cls_token' needs a class token"),
        ({"out_indices": 2}, "out_indices=2 is out of range"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        CBT(**{"arch": SMALL, **options})
