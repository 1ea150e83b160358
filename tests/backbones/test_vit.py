"""ViTCSaN: golden numbers, exact parameter counts, plain ViT as its special case, positions, windows, output types."""

import pytest
import timm
import torch
from golden import assert_golden, read_golden

from csan_mm.backbones import ViTCSaN
from csan_mm.checkpoint import convert_state_dict

#: arch -> parameters of the 1000-class model, bounded and unbounded kappa.
COUNTS = {
    "tiny": (5_959_696, 5_966_896),
    "small": (23_008_696, 23_036_920),
    "base-slim": (40_535_976, 40_585_896),
    "base": (90_377_608, 90_489_352),
}
SMALL = {"embed_dims": 32, "depth": 3, "num_heads": 2}


def vit(**options) -> ViTCSaN:
    return ViTCSaN(**{"arch": SMALL, "img_size": 64, "patch_size": 8, **options}).eval()


def randomised(model: torch.nn.Module) -> torch.nn.Module:
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model.eval()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@torch.no_grad()
def test_golden(golden_dir, dtype):
    golden = read_golden(golden_dir, "vit_csan_bounded")
    dims = golden.arch("embed_dims", "depth", "num_heads")
    options = {**golden.arch("img_size", "patch_size", "kappa"), "out_type": "raw"}
    state = convert_state_dict(golden.state, "csan-vit")
    raw = ViTCSaN(dims, **options, out_indices=(0, 1, 2), final_norm=False).eval().to(dtype)
    normed = ViTCSaN(dims, **options).eval().to(dtype)
    assert raw.load_state_dict(state, strict=False).unexpected_keys == ["norm.bias", "norm.weight"]
    normed.load_state_dict(state)
    image = golden.image.to(dtype)
    for i, tokens in enumerate(raw(image)):
        assert_golden(tokens, golden.outputs[f"block{i}"])
    assert_golden(normed(image)[0], golden.outputs["final_norm"])


@pytest.mark.parametrize("arch", COUNTS)
def test_parameter_counts_with_a_classifier(arch):
    from mmpretrain.models.heads import VisionTransformerClsHead

    for kappa, expected in zip(("bounded", "unbounded"), COUNTS[arch]):
        with torch.device("meta"):
            backbone = ViTCSaN(arch, kappa=kappa, out_type="cls_token")
            head = VisionTransformerClsHead(1000, backbone.channels[-1])
        assert sum(p.numel() for module in (backbone, head) for p in module.parameters()) == expected


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"qk_norm": True, "init_values": 0.1},
        {"reg_tokens": 3},
        {"reg_tokens": 3, "no_embed_class": True},
        {"class_token": False},
    ],
    ids=["plain", "qk-norm-layer-scale", "registers", "registers-without-positions", "no-class-token"],
)
@torch.no_grad()
def test_softmax_mixer_is_timms_vit(options):
    pool = {"global_pool": "avg"} if options.get("class_token") is False else {}
    theirs = timm.models.VisionTransformer(
        img_size=64, patch_size=8, embed_dim=32, depth=3, num_heads=2, num_classes=5, fc_norm=False, **pool, **options
    )
    randomised(theirs)
    ours = vit(
        mixer="softmax",
        qk_norm=options.get("qk_norm", False),
        layer_scale=options.get("init_values"),
        num_registers=options.get("reg_tokens", 0),
        no_embed_class=options.get("no_embed_class", False),
        with_cls_token=options.get("class_token", True),
        out_type="raw",
    )
    ours.load_state_dict(convert_state_dict(theirs.state_dict(), "timm-vit"))
    image = torch.randn(2, 3, 64, 64)
    torch.testing.assert_close(ours(image)[0], theirs.forward_features(image), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_output_types_are_views_of_the_same_tokens():
    model, image = randomised(vit(num_registers=1)), torch.randn(2, 3, 40, 72)
    results = {}
    for out_type in ("raw", "featmap", "cls_token", "avg_featmap"):
        model.out_type = out_type
        (results[out_type],) = model(image)
    tokens = results["raw"]
    assert tokens.shape == (2, 2 + 5 * 9, 32)
    assert torch.equal(results["featmap"].flatten(2).transpose(1, 2), tokens[:, 2:])
    assert torch.equal(results["cls_token"], tokens[:, 0])
    torch.testing.assert_close(results["avg_featmap"], tokens[:, 2:].mean(1))


@torch.no_grad()
def test_positions_are_resized_from_their_own_grid_not_from_a_square():
    """A ramp along the rows of a 4 x 16 grid stays a ramp along the rows on other grids."""
    model = vit(img_size=(32, 128), with_cls_token=False, out_type="raw")
    ramp = torch.arange(4.0).repeat_interleave(16)[None, :, None].expand(1, 64, 32)
    model.pos_embed.copy_(ramp)
    torch.nn.init.zeros_(model.patch_embed.proj.weight)
    torch.nn.init.zeros_(model.patch_embed.proj.bias)
    tokens, grid = model.embed(torch.zeros(1, 3, 32, 128))
    assert torch.equal(tokens, ramp)
    tokens, grid = model.embed(torch.zeros(1, 3, 64, 48))
    rows = tokens.unflatten(1, grid)[0, :, :, 0]
    assert grid == (8, 6)
    torch.testing.assert_close(rows, rows[:, :1].expand(-1, 6))
    assert (rows[1:, 0] > rows[:-1, 0]).all()


@torch.no_grad()
def test_a_window_as_large_as_the_map_is_global_attention():
    options = {"with_cls_token": False, "out_type": "raw"}
    whole, windowed = vit(**options), vit(**options, window_size=8)
    windowed.load_state_dict(randomised(whole).state_dict())
    image = torch.randn(1, 3, 64, 64)
    torch.testing.assert_close(whole(image)[0], windowed(image)[0], rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_windows_keep_apart_and_global_blocks_join():
    """Changing one corner of the image reaches the other corner through a global block only."""
    one = torch.randn(1, 3, 64, 64)
    other = one.clone()
    other[:, :, :8, :8] += 1
    for global_indices, reaches in (((), False), ((1,), True)):
        model = randomised(vit(with_cls_token=False, window_size=4, global_indices=global_indices))
        far = [model(image)[0][:, :, -1, -1] for image in (one, other)]
        assert torch.equal(*far) is not reaches


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"arch": {"embed_dims": 32, "depths": 3, "num_heads": 2}}, "missing: depth; unknown: depths"),
        ({"window_size": 7}, "set with_cls_token=False"),
        ({"global_indices": (1,)}, "without window_size"),
        ({"global_indices": (3,), "window_size": 7, "with_cls_token": False}, "take blocks from 0 to 2"),
        ({"out_type": "cls"}, "out_type='cls'"),
        ({"out_type": "cls_token", "with_cls_token": False}, "or take 'avg_featmap'"),
        ({"out_type": "raw", "norm_cfg": {"type": "BN"}}, "norm_cfg="),
        ({"out_indices": (3,)}, "from 0 to 2"),
        ({"ffn": "none"}, "ffn='none'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_arguments_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        vit(**options)
