"""MAViT: golden numbers, exact parameter counts, and its choices of attention, layer scale and norms."""

import pytest
import torch
from golden import assert_golden, read_golden
from torch import nn

from csan_mm.backbones import MAViT
from csan_mm.backbones.mavit import ARCHS, SoftmaxOperator
from csan_mm.checkpoint import convert_state_dict
from csan_mm.layers import rotary
from csan_mm.mixers.linear import LinearOperator
from csan_mm.mixers.mala import MALAOperator
from csan_mm.necks import MAViTNeck

#: arch -> parameters of the 1000-class model, width of the classifier's projection.
COUNTS = {
    "tiny": (16_449_128, 2048),
    "small": (27_142_568, 2048),
    "base": (49_792_648, 2048),
    "large": (97_766_088, 2560),
}
#: arch -> parameters without the classifier in millions, and where each stage's layer scale starts (spec, table).
BODIES = {
    "tiny": (13.35, (1, 1, 1, 1)),
    "small": (24.04, (1, 1, 1, 1)),
    "base": (46.69, (1, 1, 1e-6, 1e-6)),
    "large": (93.56, (1e-6, 1e-6, 1e-6, 1e-6)),
}
SMALL = {"embed_dims": (8, 16, 16, 24), "depths": (1, 2, 1, 1), "num_heads": (1, 2, 2, 3)}


def mavit(**options) -> MAViT:
    return MAViT(**{"arch": SMALL, "drop_path_rate": 0.0, **options})


def golden_backbone(golden, **options) -> MAViT:
    dims = golden.arch("embed_dims", "depths", "num_heads", "layer_scale")
    model = MAViT(dims, **{"norm_cfg": None, **options}).eval()
    model.load_state_dict(convert_state_dict(golden.state, "mala"), strict=options == {})
    return model


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@torch.no_grad()
def test_golden(golden_dir, dtype):
    golden = read_golden(golden_dir, "mavit")
    model, image = golden_backbone(golden).to(dtype), golden.image.to(dtype)
    assert_golden(model.patch_embed(image).permute(0, 3, 1, 2), golden.outputs["patch_embed"])
    for i, feature in enumerate(model(image)):
        assert_golden(feature, golden.outputs[f"stage{i}"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@torch.no_grad()
def test_golden_logits(golden_dir, dtype):
    golden = read_golden(golden_dir, "mavit")
    width, embed_dims = golden.state["proj.weight"].shape[:2]
    neck = MAViTNeck(embed_dims, width)
    neck.load_state_dict({k: v for k, v in golden.state.items() if k.startswith(("proj.", "norm."))})
    head = nn.Linear(width, 10)
    head.load_state_dict({"weight": golden.state["head.weight"].flatten(1), "bias": golden.state["head.bias"]})
    model = nn.Sequential(golden_backbone(golden), neck).eval().to(dtype)
    assert_golden(head.to(dtype)(model(golden.image.to(dtype))[0]), golden.outputs["logits"])


@pytest.mark.parametrize(
    "term",
    ["pos", "qkvo", "lepe", "proj", "gamma_1", "gamma_2", "dwconv", "fc1", "norm1", "norm2", "reduction"],
)
@torch.no_grad()
def test_golden_notices_a_change_in_every_term(golden_dir, term):
    golden = read_golden(golden_dir, "mavit")
    model = golden_backbone(golden)
    for name, value in model.state_dict().items():
        if f".{term}" in name and "patch_embed" not in name:
            value.zero_()
    with pytest.raises(AssertionError, match="differs by"):
        assert_golden(model(golden.image)[-1], golden.outputs["stage3"])


@torch.no_grad()
def test_golden_notices_other_angles(golden_dir, monkeypatch):
    golden = read_golden(golden_dir, "mavit")
    monkeypatch.setattr(rotary, "BASE", 5000.0)
    with pytest.raises(AssertionError, match="differs by"):
        assert_golden(golden_backbone(golden)(golden.image)[-1], golden.outputs["stage3"])


@torch.no_grad()
def test_golden_notices_another_attention(golden_dir):
    golden = read_golden(golden_dir, "mavit")
    for attention in (
        "mala",
        "softmax",
        "linear",
        ({"type": "mala", "rotary_in_z": True}, "mala", "softmax", "softmax"),
    ):
        with pytest.raises(AssertionError, match="differs by"):
            assert_golden(golden_backbone(golden, attention=attention)(golden.image)[-1], golden.outputs["stage3"])


@pytest.mark.parametrize("arch", COUNTS)
def test_parameter_counts_with_the_classifier(arch):
    from mmpretrain.models.heads import LinearClsHead

    count, projection = COUNTS[arch]
    with torch.device("meta"):
        backbone = MAViT(arch, out_indices=(3,), norm_cfg=None)
        neck = MAViTNeck(backbone.channels[-1], projection)
        head = LinearClsHead(1000, projection)
    assert sum(p.numel() for module in (backbone, neck, head) for p in module.parameters()) == count
    millions, starts = BODIES[arch]
    assert round(sum(p.numel() for p in backbone.parameters()) / 1e6, 2) == millions
    assert ARCHS[arch]["layer_scale_init_values"] == starts


def test_initialisation():
    arch = {**SMALL, "embed_dims": (64, 64, 64, 96), "layer_scale_init_values": (1, 0.5, 1e-6, 0.1)}
    model = mavit(arch=arch)
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            assert module.bias.abs().max() == 0
            if module.weight.numel() > 5000:
                assert module.weight.std().item() == pytest.approx(0.02, rel=0.1)
    for stage, start in zip(model.layers, arch["layer_scale_init_values"]):
        for block in stage.blocks:
            assert block.gamma_1.unique().tolist() == block.gamma_2.unique().tolist() == pytest.approx([start])


def test_layer_scale_per_stage():
    model = mavit(arch={**SMALL, "layer_scale": (True, False, True, False)})
    assert [stage.blocks[0].gamma_1 is not None for stage in model.layers] == [True, False, True, False]
    assert [stage.blocks[-1].gamma_2 is not None for stage in model.layers] == [True, False, True, False]
    model(torch.randn(1, 3, 40, 72))


def kinds(model: MAViT) -> list[list[type]]:
    return [[type(block.attn.operator) for block in stage.blocks] for stage in model.layers]


def test_attention_per_stage_and_block():
    M, L, S = MALAOperator, LinearOperator, SoftmaxOperator
    assert kinds(mavit()) == [[M], [M, M], [S], [S]]
    assert kinds(mavit(attention="linear")) == [[L], [L, L], [L], [L]]
    assert kinds(mavit(attention=["softmax", ["linear", "mala"], "mala", "softmax"])) == [[S], [L, M], [M], [S]]
    options = {"type": "mala", "kernel": "exp", "learnable": True}
    model = mavit(attention=(options, "mala", "softmax", "softmax"))
    assert model.layers[0].blocks[0].attn.operator.kernel == "exp"
    assert model.layers[0].blocks[0].attn.operator.beta.requires_grad
    assert options == {"type": "mala", "kernel": "exp", "learnable": True}


def test_options_for_the_blocks_of_kind_mala_alone():
    """As the kind with these options in stages 1 and 2; a kind's own option wins."""
    plain = mavit(attention=({"type": "mala", "use_beta": False},) * 2 + ("softmax", "softmax"))
    swept = mavit(mala={"use_beta": False})
    assert kinds(swept) == kinds(mavit())
    swept.load_state_dict(plain.state_dict())
    image = torch.randn(1, 3, 40, 72)
    for one, other in zip(swept(image), plain(image)):
        assert torch.equal(one, other)
    own = mavit(attention=({"type": "mala", "kernel": "exp"}, "mala", "softmax", "linear"), mala={"kernel": "relu"})
    assert [stage.blocks[0].attn.operator.kernel for stage in own.layers[:2]] == ["exp", "relu"]
    assert own.layers[3].blocks[0].attn.operator.kernel == "elu+1"


def test_all_kinds_have_the_same_parameters():
    states = [mavit(attention=kind).state_dict() for kind in ("mala", "linear", "softmax")]
    assert states[0].keys() == states[1].keys() == states[2].keys()


def batch_norms(model: MAViT) -> list[nn.Module]:
    return [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]


@pytest.mark.parametrize("norm", [nn.BatchNorm2d, nn.SyncBatchNorm], ids=["BN", "SyncBN"])
def test_norms_of_the_convolutions(norm):
    name = "BN" if norm is nn.BatchNorm2d else "SyncBN"
    model = mavit(conv_norm_cfg={"type": name, "requires_grad": False}, norm_eval=True)
    norms = batch_norms(model.train())
    assert len(norms) == 4 + 3
    assert all(isinstance(m, norm) and not m.training for m in norms)
    assert not any(p.requires_grad for m in norms for p in m.parameters())
    assert type(model.norm0) is nn.LayerNorm
    assert model.norm0.eps == 1e-6
    assert all(m.training for m in batch_norms(mavit(conv_norm_cfg={"type": name}).train()))


def test_levels_above_the_last_are_not_built():
    model = mavit(out_indices=(0, 1))
    assert len(model.layers) == 2
    assert model.layers[1].downsample is None
    assert model.unbuilt_prefixes == ("layers.1.downsample.", "layers.2.", "layers.3.")
    left = [n for n in mavit().state_dict() if n not in model.state_dict() and not n.startswith("norm")]
    assert left
    assert all(name.startswith(model.unbuilt_prefixes) for name in left)
    assert mavit().unbuilt_prefixes == ()


def test_downsampling_belongs_to_the_stage_behind_it():
    model = mavit(frozen_stages=1)
    assert not any(p.requires_grad for p in model.layers[0].blocks.parameters())
    assert all(p.requires_grad for p in model.layers[0].downsample.parameters())
    assert model.get_layer_depth("layers.0.downsample.reduction.weight") == (2, 7)
    assert model.get_layer_depth("layers.1.blocks.1.gamma_1") == (3, 7)
    assert model.get_layer_depth("layers.2.downsample.norm.weight") == (5, 7)


def test_arch_is_guessed_from_a_file():
    with torch.device("meta"):
        assert MAViT().guess_arch(MAViT("base").state_dict()) == "'base'"
    assert "depths=(1, 2, 1, 1)" in MAViT("t", out_indices=(0,)).guess_arch(mavit().state_dict())
    assert mavit().guess_arch({}) is None


@torch.no_grad()
def test_a_whole_model_in_bfloat16_is_near():
    model, image = mavit().eval(), torch.randn(1, 3, 64, 96)
    expected = model(image)
    for half, full in zip(model.to(torch.bfloat16)(image.to(torch.bfloat16)), expected):
        assert half.dtype == torch.bfloat16
        torch.testing.assert_close(half.float(), full, rtol=0.1, atol=0.1)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"arch": "huge"}, "arch='huge' is unknown: take one of tiny, small, base, large"),
        ({"arch": {"embed_dims": (8,)}}, "missing: depths, num_heads"),
        ({"arch": {**SMALL, "num_heads": (1, 2)}}, "one entry per stage in each list"),
        ({"arch": {**SMALL, "layer_scale": (True,)}}, "one entry per stage in each list"),
        ({"arch": {**SMALL, "num_heads": (3, 2, 2, 3)}}, "num_heads=3 does not divide embed_dims=8"),
        ({"arch": {**SMALL, "embed_dims": (7, 16, 16, 24)}}, "embed_dims=7: the stem halves"),
        ({"arch": {**SMALL, "embed_dims": (6, 16, 16, 24)}}, "head_dims=6 cannot be rotated"),
        ({"attention": "flash"}, "attention='flash' is unknown: take one of mala, linear, softmax"),
        ({"attention": ("mala", "mala")}, "has 2 entries for 4 stages"),
        ({"attention": ("mala", ("mala",), "mala", "mala")}, "has 1 kinds for the 2 blocks of stage 1"),
        ({"attention": {"type": "linear", "kernel": "gelu"}}, "kernel='gelu'"),
        ({"attention": {"type": "softmax", "kernel": "exp"}}, "'softmax' has no option kernel: it takes none"),
        ({"attention": "softmax", "mala": {"use_beta": False}}, "mala=.* has no block to act on"),
        ({"mala": {"beta": False}}, "mala: 'mala' has no option beta: it takes kernel, rotary_in_z, use_beta"),
        ({"mala": {"use_beta": "no"}}, "use_beta='no'"),
        ({"mala": {"kernel": "gelu"}}, "kernel='gelu'"),
        ({"out_indices": (4,)}, r"out_indices=\(4,\)"),
        ({"frozen_stages": 5}, "frozen_stages=5"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_arguments_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        mavit(**options)
