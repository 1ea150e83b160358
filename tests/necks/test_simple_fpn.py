"""SimpleFPN: sizes, the arithmetic of each level, gradients, arguments."""

import pytest
import torch
from mmengine.registry import MODELS
from torch.nn.functional import gelu, layer_norm

import csan_mm  # noqa: F401
from csan_mm.necks import SimpleFPN


@pytest.mark.parametrize("size", [(1, 1), (1, 6), (5, 2), (7, 9), (8, 8)], ids=str)
@torch.no_grad()
def test_each_level_has_half_the_cells_rounded_up(size):
    levels = SimpleFPN(16, out_channels=8)((torch.randn(2, 16, *size),))
    expected = [(4 * side, 2 * side, side, -(-side // 2), -(-side // 4)) for side in size]
    assert [tuple(level.shape) for level in levels] == [(2, 8, h, w) for h, w in zip(*expected)]
    assert all(level.is_contiguous() and level.isfinite().all() for level in levels)


@torch.no_grad()
def test_levels_are_what_vitdet_says():
    """Written out cell by cell for the enlarged levels: cell (i, j) of a deconvolution 2x2 sees cell (i // 2, j // 2) only."""
    neck = SimpleFPN(8, out_channels=4).double()
    x = torch.randn(1, 8, 3, 3, dtype=torch.float64)
    got = neck((x,))

    def deconv(x, module):
        grown = torch.zeros(1, module.out_channels, 2 * x.shape[2], 2 * x.shape[3], dtype=x.dtype)
        for i in range(grown.shape[2]):
            for j in range(grown.shape[3]):
                taps = module.weight[:, :, i % 2, j % 2]
                grown[0, :, i, j] = x[0, :, i // 2, j // 2] @ taps + module.bias
        return grown

    def norm(x, module):
        y = layer_norm(x.movedim(1, -1), module.normalized_shape, module.weight, module.bias, module.eps)
        return y.movedim(-1, 1)

    def out(x, level):
        for conv in level[-2:]:
            assert conv.conv.bias is None
            assert not conv.with_activation
            x = norm(torch.nn.functional.conv2d(x, conv.conv.weight, padding=conv.conv.padding), conv.norm)
        return x

    four, two, _, half = neck.levels
    resampled = [
        deconv(gelu(norm(deconv(x, four[0]), four[1])), four[3]),
        deconv(x, two[0]),
        x,
        torch.stack([x[:, :, :2, :2], x[:, :, :2, 2:].expand(-1, -1, -1, 2)]).amax((-1, -2)),
    ]
    for mine, wanted, level in zip(got[:3], resampled, neck.levels):
        torch.testing.assert_close(mine, out(wanted, level))
    corners = torch.stack(
        [x[:, :, rows, columns].amax((2, 3)) for rows in (slice(2), slice(2, 3)) for columns in (slice(2), slice(2, 3))]
    )
    torch.testing.assert_close(got[3], out(corners.permute(1, 2, 0).reshape(1, 8, 2, 2), half))
    assert torch.equal(got[4], got[3][:, :, ::2, ::2])


@torch.no_grad()
def test_memory_format_follows_the_map():
    neck, x = SimpleFPN(16, out_channels=8), torch.randn(2, 16, 5, 7)
    plain = neck((x,))
    last = neck.to(memory_format=torch.channels_last)((x.contiguous(memory_format=torch.channels_last),))
    for one, other in zip(plain, last):
        assert other.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm_cfg", [None, {"type": "BN"}], ids=["none", "BN"])
def test_every_parameter_gets_a_gradient(norm_cfg):
    neck = SimpleFPN(16, out_channels=8, num_outs=4, rescales=(2, 1, 0.5), norm_cfg=norm_cfg)
    levels = neck((torch.randn(2, 16, 5, 5),))
    assert [level.shape[2] for level in levels] == [10, 5, 3, 2]
    sum(level.square().sum() for level in levels).backward()
    assert [name for name, p in neck.named_parameters() if p.grad is None] == []


def test_parameter_count_is_vitdets():
    """detectron2's SimpleFeaturePyramid with LN at C = 768, 256 channels."""
    c, out = 768, 256
    resample = (4 * c * c // 2 + c // 2) * 2 + 2 * (c // 2) + (4 * (c // 2) * (c // 4) + c // 4)
    convs = out * (c // 4 + c // 2 + c + c) + 4 * 9 * out * out + 2 * 4 * 2 * out
    assert sum(p.numel() for p in SimpleFPN(c).parameters()) == resample + convs


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rescales": (1, 2)}, "rescales="),
        ({"rescales": (8, 4)}, "rescales="),
        ({"num_outs": 3}, "num_outs=3"),
        ({"in_channels": 18}, "in_channels=18"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        SimpleFPN(**{"in_channels": 16, **options})


def test_more_than_one_map_is_refused():
    with pytest.raises(ValueError, match="takes one map and got 2"):
        SimpleFPN(8)((torch.zeros(1, 8, 2, 2),) * 2)


@pytest.mark.parametrize("scope", ["mmengine", "mmdet"])
def test_builds_from_every_scope(scope):
    import importlib

    importlib.import_module(f"{scope}.registry")
    neck = MODELS.build({"type": "csan_mm.SimpleFPN", "in_channels": 16})
    neck.init_weights()
    assert isinstance(neck, SimpleFPN)
