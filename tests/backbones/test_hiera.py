"""HieraCSaN: golden numbers, exact parameter counts, plain Hiera as its special case."""

import pytest
import timm
import torch
from golden import assert_golden, read_golden

from csan_mm.backbones import HieraCSaN
from csan_mm.backbones.hiera import group_cells, pool_max
from csan_mm.checkpoint import convert_state_dict

#: arch -> parameters of the 1000-class model, bounded and unbounded kappa.
COUNTS = {
    "tiny": (29_052_426, 29_089_314),
    "tiny-plus": (29_064_622, 29_101_510),
    "small": (36_468_842, 36_515_138),
    "base-slim": (30_462_808, 30_502_888),
    "base": (53_728_576, 53_797_144),
    "base-plus": (72_900_604, 72_993_280),
}
SMALL = {"embed_dims": 16, "depths": (1, 2, 2, 1), "num_heads": 1}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@torch.no_grad()
def test_golden(golden_dir, dtype):
    golden = read_golden(golden_dir, "hiera_csan_bounded")
    dims = {**golden.arch("embed_dims", "num_heads"), "depths": golden.about["stages"]}
    model = HieraCSaN(dims, **golden.arch("img_size", "kappa"), norm_cfg=None).eval().to(dtype)
    missing = model.load_state_dict(convert_state_dict(golden.state, "csan-hiera"), strict=False)
    assert missing.missing_keys == []
    assert set(missing.unexpected_keys) <= {"norm3.bias", "norm3.weight"}  # own files have no classifier
    for i, feature in enumerate(model(golden.image.to(dtype))):
        assert_golden(feature, golden.outputs[f"stage{i}"])


@pytest.mark.parametrize("arch", COUNTS)
def test_parameter_counts_with_a_classifier(arch):
    from mmpretrain.models.heads import LinearClsHead

    for kappa, expected in zip(("bounded", "unbounded"), COUNTS[arch]):
        with torch.device("meta"):
            backbone = HieraCSaN(arch, kappa=kappa, out_indices=(3,))
            head = LinearClsHead(1000, backbone.channels[-1])
        assert sum(p.numel() for module in (backbone, head) for p in module.parameters()) == expected


@pytest.mark.parametrize("abs_win", [False, True], ids=["absolute", "absolute-window"])
@pytest.mark.parametrize("size", [(64, 64), (96, 160)], ids=str)
@torch.no_grad()
def test_softmax_mixer_is_timms_hiera(size, abs_win):
    theirs = timm.models.Hiera(
        img_size=size, embed_dim=16, num_heads=1, stages=(1, 2, 2, 1), num_classes=5, abs_win_pos_embed=abs_win
    )
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    ours = HieraCSaN(SMALL, mixer="softmax", img_size=size, abs_win_pos_embed=abs_win).eval()
    state = convert_state_dict(theirs.state_dict(), "timm-hiera")
    assert not ours.load_state_dict(state, strict=False).unexpected_keys
    image = torch.randn(2, 3, *size)
    expected = theirs.eval().forward_intermediates(image, indices=4, intermediates_only=True)
    ours.norm0, ours.norm1, ours.norm2, ours.norm3 = (torch.nn.Identity(),) * 4
    for mine, its in zip(ours(image), expected):
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-4)


def test_groups_are_two_by_two_cells():
    tokens = torch.arange(4 * 6.0).reshape(1, 24, 1)
    assert group_cells(tokens, (4, 6))[0, :8, 0].tolist() == [0, 1, 6, 7, 2, 3, 8, 9]
    assert pool_max(tokens.reshape(1, 4, 6, 1)).flatten().tolist() == [7, 9, 11, 19, 21, 23]


@torch.no_grad()
def test_padding_to_mask_units_is_padding_of_the_image():
    model = HieraCSaN(SMALL, img_size=64).eval()
    image = torch.randn(1, 3, 45, 70)
    whole = model(torch.nn.functional.pad(image, (0, 26, 0, 19)))
    for cropped, padded in zip(model(image), whole):
        assert torch.equal(cropped, padded[:, :, : cropped.shape[2], : cropped.shape[3]])


def test_stochastic_depth_of_the_attention_branch():
    """0.75 of the block's rate where that is above 0.2."""
    model = HieraCSaN("tiny", drop_path_rate=0.4)
    for i, block in enumerate(model.blocks):
        full = 0.4 * i / 11
        assert block.drop_path2.drop_prob == pytest.approx(full)
        assert block.drop_path1.drop_prob == pytest.approx(0.75 * full if full > 0.2 else full)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"arch": {"embed_dims": 16, "depths": (1, 1, 1, 1, 1), "num_heads": 1}}, "at most 4 stages"),
        ({"mixer": "mala"}, "cannot pool queries"),
        ({"arch": "big"}, "arch='big'"),
        ({"kappa": "some"}, "kappa='some'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_arguments_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        HieraCSaN(**{"arch": SMALL, **options})
