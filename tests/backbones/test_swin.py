"""SwinCSaN: golden numbers, exact parameter counts, and plain Swin as its special case."""

import pytest
import timm
import torch
from golden import assert_golden, read_golden

from csan_mm.backbones import SwinCSaN
from csan_mm.checkpoint import convert_state_dict
from csan_mm.layers.windows import WindowGrid

#: (arch, version) -> parameters of the 1000-class model, bounded and unbounded kappa.
COUNTS = {
    ("min", "v1"): (12_184_207, 12_197_071),
    ("micro", "v1"): (21_919_093, 21_944_221),
    ("tiny-slim", "v1"): (13_297_756, 13_314_812),
    ("tiny", "v1"): (29_466_982, 29_502_118),
    ("small", "v1"): (51_749_974, 51_813_334),
    ("base", "v1"): (91_564_736, 91_675_952),
    ("min", "v2"): (12_256_207, 12_269_071),
    ("tiny", "v2"): (29_687_782, 29_722_918),
    ("small", "v2"): (52_201_174, 52_264_534),
}
SMALL = {"embed_dims": 16, "depths": (1, 2, 2, 1), "num_heads": (1, 2, 4, 4)}


def swin(**options) -> SwinCSaN:
    return SwinCSaN(**{"arch": SMALL, "drop_path_rate": 0.0, **options})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", ["swin_csan_v1_bounded", "swin_csan_v2_unbounded"])
@torch.no_grad()
def test_golden(golden_dir, name, dtype):
    golden = read_golden(golden_dir, name)
    dims = golden.arch("embed_dims", "depths", "num_heads")
    options = {"arch": dims, "kappa": golden.about["kappa"], "version": golden.about["version"]}
    raw, normed = SwinCSaN(**options, norm_cfg=None).eval().to(dtype), SwinCSaN(**options).eval().to(dtype)
    state = convert_state_dict(golden.state, "csan-swin")
    assert not normed.load_state_dict(state, strict=False).unexpected_keys
    assert not raw.load_state_dict(state, strict=False).missing_keys
    image = golden.image.to(dtype)
    for i, feature in enumerate(raw(image)):
        assert_golden(feature, golden.outputs[f"stage{i}"])
    assert_golden(normed(image)[-1], golden.outputs["final_norm"])


@pytest.mark.parametrize(
    "term", ["u", "reduce", "act.proj", "ka", "kv", "magk", "temp", "proj", "qkv", "relative_position_bias_table"]
)
@torch.no_grad()
def test_golden_notices_a_change_in_every_term(golden_dir, term):
    """The golden numbers would not hold if any single term of CSaN were left out."""
    golden = read_golden(golden_dir, "swin_csan_v2_unbounded")
    dims = golden.arch("embed_dims", "depths", "num_heads")
    model = SwinCSaN(dims, version="v2", norm_cfg=None).eval()
    state = convert_state_dict(golden.state, "csan-swin")
    state = {name: value * 0 if f".attn.{term}" in name else value for name, value in state.items()}
    model.load_state_dict(state, strict=False)
    with pytest.raises(AssertionError, match="differs by"):
        assert_golden(model(golden.image)[-1], golden.outputs["stage3"])


@pytest.mark.parametrize(("arch", "version"), COUNTS, ids=["-".join(key) for key in COUNTS])
def test_parameter_counts_with_a_classifier(arch, version):
    from mmpretrain.models.heads import LinearClsHead

    for kappa, expected in zip(("bounded", "unbounded"), COUNTS[arch, version]):
        with torch.device("meta"):
            backbone = SwinCSaN(arch, kappa=kappa, version=version, out_indices=(3,))
            head = LinearClsHead(1000, backbone.channels[-1])
        assert sum(p.numel() for module in (backbone, head) for p in module.parameters()) == expected


@pytest.mark.parametrize(
    ("options", "millions"),
    [
        ({"arch": "min", "ffn": "attention", "mixer": "softmax"}, 8.6),
        ({"arch": "min", "ffn": "attention"}, 9.5),
        ({"arch": "min", "ffn": "attention", "mixer": "softmax", "attention_ratio": 2}, 11.8),
        ({"arch": "min", "ffn": "attention", "attention_ratio": 2}, 13.6),
        ({"arch": "tiny", "granularity": "head"}, 29.0),
    ],
    ids=["attention-only-plain", "attention-only-csan", "widened-plain", "widened-csan", "head-wise"],
)
def test_parameter_figures_of_the_paper(options, millions):
    with torch.device("meta"):
        backbone = SwinCSaN(**options, out_indices=(3,))
    classifier = 1001 * backbone.channels[-1] + 1000 - backbone.channels[-1]
    assert round((sum(p.numel() for p in backbone.parameters()) + classifier) / 1e6, 1) == millions


@torch.no_grad()
def test_softmax_mixer_is_timms_swin():
    theirs = timm.create_model("swin_tiny_patch4_window7_224", num_classes=0, embed_dim=24, num_heads=(1, 2, 4, 8))
    theirs = theirs.eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    arch = {"embed_dims": 24, "depths": (2, 2, 6, 2), "num_heads": (1, 2, 4, 8)}
    ours = SwinCSaN(arch, mixer="softmax", out_indices=(3,)).eval()
    ours.load_state_dict(convert_state_dict(theirs.state_dict(), "timm-swin"))
    image = torch.randn(1, 3, 224, 224)
    torch.testing.assert_close(ours(image)[0], theirs.forward_features(image).permute(0, 3, 1, 2), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [(128, 128), (131, 250), (257, 120)], ids=str)
@torch.no_grad()
def test_softmax_mixer_is_mmdets_swin_at_odd_sizes(size):
    """Stages whose maps are larger than a window; mmdet shifts smaller ones too, the official classifier does not."""
    from mmdet.models.backbones import SwinTransformer

    theirs = SwinTransformer(embed_dims=24, depths=(2, 2), num_heads=(1, 2), strides=(4, 2), out_indices=(0, 1))
    theirs.eval()  # returns None
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    ours = SwinCSaN(
        {"embed_dims": 24, "depths": (2, 2), "num_heads": (1, 2)}, mixer="softmax", out_indices=(0, 1)
    ).eval()
    ours.load_state_dict(convert_state_dict(theirs.state_dict(), "mm-swin"))
    image = torch.randn(1, 3, *size)
    for mine, its in zip(ours(image), theirs(image)):
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-4)


def test_stochastic_depth_of_the_attention_branch():
    """The block's rate below 0.25, a third of it from there on; the FFN branch keeps the full rate."""
    blocks = SwinCSaN("tiny", drop_path_rate=0.5).layers
    rates = [(b.drop_path1.drop_prob, b.drop_path2.drop_prob) for stage in blocks for b in stage.blocks]
    for i, (attention, ffn) in enumerate(rates):
        full = 0.5 * i / 11
        assert ffn == pytest.approx(full, abs=1e-6)
        assert attention == pytest.approx(full if full < 0.25 else full / 3, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"arch": "huge"}, "arch='huge' is unknown: take one of min, micro"),
        ({"arch": {"embed_dims": 16}}, "missing: depths, num_heads"),
        ({"arch": {**SMALL, "dephts": 1}}, "unknown: dephts"),
        ({"arch": {**SMALL, "num_heads": (1, 2)}}, "one entry per stage"),
        ({"arch": {**SMALL, "num_heads": (3, 3, 3, 3)}}, "num_heads=3 does not divide embed_dims=16"),
        (
            {"arch": {**SMALL, "depths": (1, 1, 1, -1)}},
            r"depths=\(1, 1, 1, -1\) is invalid: take whole numbers from 1 up, one per",
        ),
        ({"arch": {**SMALL, "num_heads": 2}}, "num_heads=2 is invalid"),
        ({"arch": {**SMALL, "embed_dims": "48"}}, "embed_dims='48' is invalid: take one whole number"),
        ({"drop_path_rate": 1.5}, "drop_path_rate=1.5"),
        ({"window_size": 0}, "window_size=0"),
        ({"version": "v3"}, "version='v3'"),
        ({"ffn": "none"}, "ffn='none'"),
        ({"kappa": "free"}, "kappa='free'"),
        ({"out_indices": (0, 4)}, r"out_indices=\(0, 4\) is out of range: take different ones from 0 to 3"),
        ({"frozen_stages": 5}, "frozen_stages=5"),
        ({"mixer": "sofmax"}, "mixer='sofmax'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_arguments_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        swin(**options)


@pytest.mark.parametrize("mixer", ["mala", "linear", "cbsa", "cbsa-adapted", "softmax", "csan"])
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.filterwarnings("ignore:8 x 8 representatives")
def test_without_windows_a_stage_sees_its_whole_map(mixer, version):
    """One output cell of the first stage depends on the whole image, also at odd sizes."""
    torch.manual_seed(0)
    model = swin(mixer=mixer, window_size=None, version=version, out_indices=(0, 3)).eval()
    image = torch.randn(1, 3, 90, 118, requires_grad=True)
    first, last = model(image)
    assert first.shape[2:] == (23, 30)
    assert last.shape[2:] == (3, 4)
    first[0, 0, 3, 4].backward()
    reach = image.grad.abs().amax(dim=(0, 1)) > 0
    assert reach[::4, ::4].all()


def test_unshifted_windows_exchange_nothing_within_a_stage():
    model = swin(mixer="mala", out_indices=(0,)).eval()
    image = torch.randn(1, 3, 112, 112, requires_grad=True)
    model(image)[0][0, 0, 0, 0].backward()
    reach = image.grad.abs().amax(dim=(0, 1)) > 0
    assert reach[:28, :28].all()
    assert not reach[28:].any()


@torch.no_grad()
def test_without_windows_the_attention_is_that_of_the_tokens():
    model = swin(mixer="mala", window_size=None, out_indices=(0,), norm_cfg=None).eval()
    image = torch.randn(2, 3, 36, 52)
    block, x = model.layers[0].blocks[0], model.patch_embed(image)
    y = x + block.attn(block.norm1(x).flatten(1, 2), (9, 13)).unflatten(1, (9, 13))
    y = y + block.mlp(block.norm2(y))
    torch.testing.assert_close(model(image)[0], y.permute(0, 3, 1, 2))


@pytest.mark.parametrize("version", ["v1", "v2"])
@torch.no_grad()
def test_a_block_of_two_attentions_as_it_is_written(version):
    """x += attn(norm1 x), x += attn2(norm2 x), each with its own convolution behind it in v2; a map of one window."""
    arch = {"embed_dims": 12, "depths": (1,), "num_heads": (3,)}
    model = SwinCSaN(arch, version=version, ffn="attention", window_size=4, out_indices=(0,)).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    (block,) = model.layers[0].blocks
    x = torch.randn(2, 4, 4, 12, dtype=torch.float64)
    expected = x
    for norm, attn, conv in ((block.norm1, block.attn, block.posinfo), (block.norm2, block.attn2, block.posinfo2)):
        y = attn(norm(expected).flatten(1, 2), (4, 4)).unflatten(1, (4, 4))
        assert (conv is None) == (version == "v1")
        expected = expected + (y if conv is None else conv(y.permute(0, 3, 1, 2)).permute(0, 2, 3, 1))
    torch.testing.assert_close(block(x, WindowGrid(4, 4, 4)), expected)


def test_without_windows_a_plain_swin_file_loads_but_for_its_position_bias():
    windowed, whole = swin(mixer="softmax"), swin(mixer="softmax", window_size=None)
    state, notes = whole.adapt_state_dict(windowed.state_dict())
    whole.load_state_dict(state)
    assert notes == ["left out 6 position bias tables"]
