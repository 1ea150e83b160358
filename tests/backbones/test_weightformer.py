"""WeightFormer: golden numbers, exact parameter counts, which blocks are dynamic, arguments."""

from math import ceil

import pytest
import torch
from golden import assert_golden, read_golden

from csan_mm.backbones import WeightFormer
from csan_mm.backbones.weightformer import dynamic_blocks
from csan_mm.checkpoint import convert_state_dict
from csan_mm.layers.dynamic import DynamicLayer
from csan_mm.layers.dynamic_conv import CONV_STRATEGIES
from csan_mm.layers.dynamic_linear import LINEAR_STRATEGIES, DynamicLinear

#: Parameters of the 1000-class model.
COUNTS = {"tiny": 7_074_184, "small": 27_492_136, "base": 27_492_136}
SMALL = {"embed_dims": 16, "depth": 4}


def weightformer(**options) -> WeightFormer:
    return WeightFormer(**{"arch": SMALL, "dynamic": 2, "patch_size": 8, **options})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@torch.no_grad()
def test_golden(golden_dir, dtype):
    golden = read_golden(golden_dir, "weightformer")
    dims = golden.arch("embed_dims", "depth")
    options = {**golden.arch("patch_size"), "out_type": "raw"}
    state = convert_state_dict(golden.state, "weightformer")
    blocks = WeightFormer(dims, **options, out_indices=range(5), final_norm=False).eval().to(dtype)
    normed = WeightFormer(dims, **options).eval().to(dtype)
    assert blocks.load_state_dict(state, strict=False).unexpected_keys == ["norm.bias", "norm.weight"]
    normed.load_state_dict(state)
    image = golden.image.to(dtype)
    for i, tokens in enumerate(blocks(image)):
        assert_golden(tokens, golden.outputs[f"block{i}"])
    (tokens,) = normed(image)
    assert_golden(tokens, golden.outputs["final_norm"])
    normed.out_type = "avg_featmap"
    head = {name: golden.state[f"head.{name}"].to(dtype) for name in ("weight", "bias")}
    assert_golden(torch.nn.functional.linear(normed(image)[0], **head), golden.outputs["logits"])


@pytest.mark.parametrize("arch", COUNTS)
def test_parameter_counts_with_a_classifier(arch):
    from mmpretrain.models.heads import LinearClsHead

    with torch.device("meta"):
        backbone = WeightFormer(arch, out_type="avg_featmap")
        head = LinearClsHead(1000, backbone.channels[-1])
    assert sum(p.numel() for module in (backbone, head) for p in module.parameters()) == COUNTS[arch]


@pytest.mark.parametrize(
    ("dynamic", "expected"),
    [
        (3, (1, 4, 7, 10, 13, 16)),
        (1, tuple(range(17))),
        (2, tuple(range(1, 17, 2))),
        ([16, 0], (0, 16)),
        ((), ()),
        (6 / 17, (1, 4, 7, 10, 13, 16)),
        (0.0, ()),
        (1.0, tuple(range(17))),
        (0.25, (3, 7, 11, 16)),
    ],
    ids=str,
)
def test_which_blocks_are_dynamic(dynamic, expected):
    assert dynamic_blocks(dynamic, 17) == expected


def test_blocks_have_what_the_checkpoints_have():
    model = weightformer()
    kinds = ["dynamic" if hasattr(block, "norm1") else "plain" for block in model.blocks]
    assert kinds == ["plain", "dynamic", "plain", "dynamic"]
    assert {name for name in model.state_dict() if name.startswith("blocks.1.")} == {
        f"blocks.1.{name}"
        for name in (
            *("norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias", "linear2.weight", "linear2.bias"),
            *("linear1.w", "linear1.b", "linear1.w1", "linear1.w2", "linear1.wfm.weight", "linear1.wfm.bias"),
            *("dwc.w", "dwc.b", "dwc.wfm.0.weight", "dwc.wfm.0.bias", "dwc.wfm.2.weight"),
        )
    }


@torch.no_grad()
def test_dead_predictions_leave_a_plain_network():
    """With w2 and the last convolution at zero dW vanishes: each layer is its static twin."""
    model = weightformer(out_type="raw").double()
    plain = weightformer(out_type="raw", dynamic=()).double()
    for block, twin in zip(model.blocks, plain.blocks):
        twin.norm2, twin.linear2 = block.norm2, block.linear2
        if block.dynamic:
            torch.nn.init.zeros_(block.linear1.w2)
            torch.nn.init.zeros_(block.dwc.wfm[2].weight)
            twin.linear1.weight.copy_(block.linear1.w.T)
            twin.linear1.bias.copy_(block.linear1.b.normal_())
            twin.dwc.weight.copy_(block.dwc.w)
            twin.dwc.bias.copy_(block.dwc.b)
        else:
            twin.linear1, twin.dwc = block.linear1, block.dwc
    x, grid = torch.randn(2, 15, 16, dtype=torch.float64), (3, 5)
    for block, twin in zip(model.blocks, plain.blocks):
        start = block.norm1(x) if block.dynamic else x
        torch.testing.assert_close(block(x, grid), twin(start, grid))
        x = block(x, grid)


@pytest.mark.parametrize("linear", LINEAR_STRATEGIES)
@pytest.mark.parametrize("conv", CONV_STRATEGIES)
def test_every_strategy_trains_at_every_size(linear, conv):
    model = weightformer(linear_strategy=linear, conv_strategy=conv, layer_scale=0.1)
    for size in [(1, 1), (8, 30), (33, 17)]:
        (output,) = model(torch.randn(2, 3, *size))
        assert output.shape == (2, 16, ceil(size[0] / 8), ceil(size[1] / 8))
        output.square().mean().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()] == []


#: Options of the paper's ablations -> which layers of a dynamic block predict, in the order dwc, linear1, linear2.
ROWS = {
    "published": ({}, (True, True, False)),
    "static convolution": ({"conv_strategy": "static"}, (False, True, False)),
    "static linear": ({"linear_strategy": "static"}, (True, False, False)),
    "second": ({"dynamic_linears": "second"}, (True, False, True)),
    "both": ({"dynamic_linears": "both"}, (True, True, True)),
    "second, static convolution": ({"dynamic_linears": "second", "conv_strategy": "static"}, (False, False, True)),
}


@pytest.mark.parametrize("row", ROWS)
def test_the_rows_of_the_paper_s_tables(row):
    """Which layers predict; each of them sees the image, and the others are what a plain block has."""
    options, wanted = ROWS[row]
    model = weightformer(**options, rate=2, pooling=1, norm_cfg=None).double()
    for index, block in enumerate(model.blocks):
        layers = (block.dwc, block.linear1, block.linear2)
        assert tuple(isinstance(layer, DynamicLayer) for layer in layers) == (wanted if index % 2 else (False,) * 3)
        assert hasattr(block, "norm1") == bool(index % 2)
    for layer in (module for module in model.modules() if isinstance(module, DynamicLinear)):
        assert layer.wfm.out_features == (layer.in_features + layer.out_features) // 2  # rate=2
    with torch.no_grad():
        for layer in (module for module in model.modules() if isinstance(module, DynamicLayer)):
            kernels = layer.kernel(torch.randn(2, 15, layer.w.shape[0], dtype=torch.float64), (3, 5))
            assert not torch.allclose(kernels[0], kernels[1], rtol=1e-6, atol=0)
    (output,) = model(torch.randn(2, 3, 33, 17, dtype=torch.float64))
    (output * torch.randn_like(output)).sum().backward()
    dead = [name for name, p in model.named_parameters() if p.grad is None or p.grad.abs().max() == 0]
    assert not dead


def test_parameters_without_decay():
    model = weightformer(layer_scale=0.1)
    names = {f"blocks.{i}.{layer}.{name}" for i in (1, 3) for layer in ("dwc", "linear1") for name in ("b", "gain")}
    assert model.no_weight_decay() == names


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"arch": {"embed_dims": 16, "depths": 3}}, "missing: depth; unknown: depths"),
        ({"dynamic": 0}, "dynamic=0 "),
        ({"dynamic": True}, "dynamic=True"),
        ({"dynamic": 1.5}, "dynamic=1.5"),
        ({"dynamic": (1, 4)}, "from 0 to 3"),
        ({"dynamic": (1, 1)}, "different blocks"),
        ({"linear_strategy": "two"}, "strategy='two' is unknown: take one of static, gap, linear"),
        ({"conv_strategy": "two"}, "strategy='two' is unknown: take one of static, gap, adaptive"),
        ({"linear_strategy": "static", "conv_strategy": "static"}, "leaves nothing dynamic: dynamic=0.0"),
        ({"dynamic_linears": "third"}, "dynamic_linears='third' is unknown: take one of first, second, both"),
        ({"pooling": 3}, "pooling=3 is not a power of two"),
        ({"rate": 3}, "rate=3 must divide"),
        ({"arch": {"embed_dims": 18, "depth": 2}}, "rate=4"),
        ({"out_type": "pyramid", "out_indices": (0, 1, 2, 3), "patch_size": 6}, "patch_size=6"),
        ({"out_type": "cls_token"}, "take 'avg_featmap'"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        weightformer(**options)


@pytest.mark.parametrize("strategy", [{}, {"linear_strategy": "deep", "conv_strategy": "amp_dir", "layer_scale": 0.1}])
def test_only_the_predictors_are_tuned_where_static_weights_are_frozen(strategy):
    torch.manual_seed(0)
    options = {"arch": {"embed_dims": 16, "depth": 5}, **strategy, "out_type": "pyramid", "out_indices": (0, 1, 3, 4)}
    model = WeightFormer(**options, frozen_stages="static", norm_cfg={"type": "LN"})
    before = {name: value.clone() for name, value in model.state_dict().items()}
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=0.1, weight_decay=0.1)
    sum(level.square().mean() for level in model(torch.randn(2, 3, 64, 96))).backward()
    assert all(parameter.grad is not None for parameter in learned)  # DDP finds no unused ones
    optimizer.step()
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    tuned = {name.split(".", 2)[2] for name in changed if name.startswith("blocks.")}
    predictors = {"linear1.wfm.weight", "linear1.wfm.bias", "linear1.w1", "linear1.w2"}
    predictors |= {"dwc.wfm.0.weight", "dwc.wfm.0.bias", "dwc.wfm.2.weight"}
    if strategy:
        predictors = predictors - {"linear1.w1"} | {"linear1.gain", "dwc.gain", "dwc.amp.weight", "dwc.amp.bias"}
    assert tuned == predictors
    assert {name.split(".")[1] for name in changed if name.startswith("blocks.")} == {"1", "4"}
    assert {name.split(".")[0] for name in changed} == {"blocks", "norm0", "norm1", "norm3", "pyramid"}
    assert not any(parameter.requires_grad for parameter in model.patch_embed.parameters())


def test_static_is_the_only_word_frozen_stages_takes():
    with pytest.raises(ValueError, match="frozen_stages='dynamic'"):
        WeightFormer("tiny", frozen_stages="dynamic")
