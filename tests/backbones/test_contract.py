"""The contract every backbone keeps, over every registered one: sizes, memory formats, freezing, checkpointing, depths."""

import copy
from math import ceil

import pytest
import torch
from mmengine.registry import MODELS
from torch import nn

import csan_mm  # noqa: F401

SWIN = {"type": "csan_mm.SwinCSaN", "arch": {"embed_dims": 16, "depths": (1, 2, 1, 1), "num_heads": (1, 2, 4, 4)}}

VIT = {
    "type": "csan_mm.ViTCSaN",
    "arch": {"embed_dims": 16, "depth": 4, "num_heads": 2},
    "img_size": (40, 64),
    "patch_size": 8,
    "out_indices": (0, 1, 2, 3),
}
HIERA = {
    "type": "csan_mm.HieraCSaN",
    "arch": {"embed_dims": 16, "depths": (1, 2, 2, 1), "num_heads": 1},
    "img_size": 64,
}

MAVIT = {
    "type": "csan_mm.MAViT",
    "arch": {"embed_dims": (8, 16, 16, 24), "depths": (1, 2, 1, 1), "num_heads": (1, 2, 2, 3)},
}

WEIGHTFORMER = {
    "type": "csan_mm.WeightFormer",
    "arch": {"embed_dims": 16, "depth": 4},
    "dynamic": 2,
    "patch_size": 8,
    "out_indices": (0, 1, 2, 3),
}

CBT = {
    "type": "csan_mm.CBT",
    "arch": {"embed_dims": 16, "depth": 4, "num_heads": 2},
    "img_size": (48, 64),
    "out_indices": (0, 1, 2, 3),
}

#: Small instances of every family and of what changes its data flow.
BACKBONES = {
    "swin-csan": SWIN,
    "swin-csan-v2": {**SWIN, "version": "v2", "kappa": "bounded"},
    "swin-attention-only": {**SWIN, "ffn": "attention"},
    "swin-softmax": {**SWIN, "mixer": "softmax"},
    "vit-csan": VIT,
    "vit-windowed": {**VIT, "window_size": 3, "global_indices": (1,), "with_cls_token": False},
    "vit-registers": {**VIT, "num_registers": 2, "qk_norm": True, "layer_scale": 0.5, "mixer": "softmax"},
    "vit-attention-only": {**VIT, "ffn": "attention"},
    "hiera-csan": HIERA,
    "hiera-softmax": {**HIERA, "mixer": "softmax", "abs_win_pos_embed": True},
    "swin-mala": {**SWIN, "mixer": "mala"},
    "swin-cbsa": {**SWIN, "mixer": {"type": "cbsa", "rep_grid": 3}},
    "swin-mssa": {**SWIN, "mixer": "mssa"},
    "vit-cbsa": {**VIT, "mixer": "cbsa"},
    "vit-tssa": {**VIT, "mixer": "tssa", "window_size": 3, "with_cls_token": False},
    "cbt": CBT,
    "cbt-legacy": {**CBT, "legacy_pooling": True, "mixer": {"type": "cbsa", "contraction": False}},
    "cbt-tssa": {**CBT, "mixer": "tssa", "with_cls_token": False},
    "mavit": MAVIT,
    "weightformer": WEIGHTFORMER,
    "weightformer-gains": {**WEIGHTFORMER, "dynamic": 1.0, "layer_scale": 0.1},
}
SIZES = [(1, 1), (3, 50), (33, 47), (64, 96), (75, 31)]

backbones = pytest.mark.parametrize("cfg", BACKBONES.values(), ids=BACKBONES)


def build(cfg: dict, **options) -> nn.Module:
    return MODELS.build({"drop_path_rate": 0.0, **copy.deepcopy(cfg), **options})


def loss(outputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    return sum(output.float().square().mean() for output in outputs)


@backbones
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_any_size_gives_ceil_levels(cfg, size):
    model = build(cfg).eval()
    with torch.no_grad():
        outputs = model(torch.randn(1, 3, *size))
    assert isinstance(outputs, tuple)
    for output, width, stride in zip(outputs, model.channels, model.strides):
        assert output.shape == (1, width, ceil(size[0] / stride), ceil(size[1] / stride))
        assert output.is_contiguous()
        assert output.isfinite().all()
    assert len(outputs) == len(model.out_indices)


@backbones
def test_channels_last_in_channels_last_out_same_values(cfg):
    model, image = build(cfg).eval(), torch.randn(2, 3, 40, 56)
    with torch.no_grad():
        plain = model(image)
        last = model.to(memory_format=torch.channels_last)(image.contiguous(memory_format=torch.channels_last))
    for one, other in zip(plain, last):
        assert other.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@backbones
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast(cfg, dtype):
    model, image = build(cfg), torch.randn(1, 3, 45, 64)
    with torch.autocast("cpu", dtype=dtype):
        outputs = model(image)
    loss(outputs).backward()
    for output, expected in zip(outputs, model(image)):
        torch.testing.assert_close(output.float(), expected, rtol=0.2, atol=0.2)
    assert all(p.grad.isfinite().all() for p in model.parameters())


@backbones
@pytest.mark.parametrize("out_indices", [(0,), (1, 2), (0, 1, 2, 3)], ids=str)
def test_every_parameter_gets_a_gradient(cfg, out_indices):
    model = build(cfg, out_indices=out_indices)
    loss(model(torch.randn(2, 3, 64, 64))).backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


@backbones
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_gradients_have_their_parameters_strides(cfg, memory_format):
    """What DDP's buckets have; others are copied there, with a warning."""
    model, image = build(cfg), torch.randn(2, 3, 64, 96)
    loss(model(image.contiguous(memory_format=memory_format))).backward()
    other = [name for name, p in model.named_parameters() if p.grad is not None and p.grad.stride() != p.stride()]
    assert not other


@backbones
def test_checkpointing_gives_the_same_gradients(cfg):
    plain = build(cfg, with_cp=False)
    cheap = build(cfg, with_cp=True)
    cheap.load_state_dict(plain.state_dict())
    image = torch.randn(2, 3, 40, 40)
    for model in (plain, cheap):
        loss(model(image)).backward()
    for one, other in zip(plain.parameters(), cheap.parameters()):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-5, atol=1e-7)


@backbones
def test_frozen_parts_stay_frozen(cfg):
    model = build(cfg, frozen_stages=2, norm_cfg={"type": "LN"})
    groups = model.parts()
    frozen = {
        id(p)
        for group in groups[:3]
        for part in group
        for p in ([part] if isinstance(part, nn.Parameter) else part.parameters())
    }
    frozen |= {id(p) for i in (0, 1) for p in getattr(model, f"norm{i}").parameters()}
    assert frozen == {id(p) for p in model.parameters() if not p.requires_grad}
    model.train()
    assert not any(
        m.training for group in groups[:3] for part in group if isinstance(part, nn.Module) for m in part.modules()
    )
    assert all(
        m.training for group in groups[3:] for part in group if isinstance(part, nn.Module) for m in part.modules()
    )
    loss(model(torch.randn(1, 3, 64, 64))).backward()
    assert all((p.grad is None) == (id(p) in frozen) for p in model.parameters())


@backbones
def test_everything_frozen_and_nothing_frozen(cfg):
    assert all(p.requires_grad for p in build(cfg).parameters())
    assert not any(p.requires_grad for p in build(cfg, frozen_stages=4).parameters())


@backbones
@pytest.mark.parametrize("norm", ["BN", "SyncBN"])
def test_norm_eval_holds_through_train(cfg, norm):
    model = build(cfg, norm_cfg={"type": norm}, norm_eval=True)
    assert model.train() is model
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    assert norms
    assert not any(m.training for m in norms)
    assert any(m.training for m in build(cfg, norm_cfg={"type": norm}).modules() if isinstance(m, type(norms[0])))


@backbones
def test_modes_return_self(cfg):
    model = build(cfg)
    assert model.train() is model
    assert model.eval() is model
    assert not any(module.training for module in model.modules())


@backbones
def test_runs_without_values_on_the_meta_device(cfg):
    """For counting, and for shapes of networks too large to hold."""
    with torch.device("meta"):
        model, image = build(cfg), torch.zeros(2, 3, 65, 90)
        maps = model(image)
    assert [level.shape for level in maps] == [
        (2, channels, ceil(65 / stride), ceil(90 / stride)) for channels, stride in zip(model.channels, model.strides)
    ]


@backbones
def test_output_norms_exist_only_where_returned(cfg):
    model = build(cfg, out_indices=(1, 3), norm_cfg={"type": "LN"})
    last = 1 if getattr(model, "final_norm", False) else 3
    assert [i for i in range(4) if hasattr(model, f"norm{i}")] == sorted({1, last})
    assert not any(hasattr(build(cfg, norm_cfg=None), f"norm{i}") for i in range(4))


@backbones
def test_same_seed_same_numbers(cfg):
    results = []
    for _ in range(2):
        torch.manual_seed(3)
        model = build(cfg, drop_path_rate=0.3)
        outputs = model(torch.randn(2, 3, 33, 40))
        loss(outputs).backward()
        results.append([*outputs, *(p.grad for p in model.parameters())])
    assert all(torch.equal(one, other) for one, other in zip(*results))


@backbones
def test_layer_depths_grow_along_the_network(cfg):
    model = build(cfg)
    _, layers = model.get_layer_depth("patch_embed.proj.weight")
    by_depth = {name: model.get_layer_depth(f"backbone.{name}", "backbone.") for name, _ in model.named_parameters()}
    assert {depth for depth, _ in by_depth.values()} == set(range(layers))
    assert {total for _, total in by_depth.values()} == {sum(model.depths) + 2}
    assert model.get_layer_depth("neck.conv.weight", "backbone.") == (layers - 1, layers)
    assert model.get_layer_depth("norm3.weight") == (layers - 1, layers)


@backbones
def test_no_decay_names_exist(cfg):
    model = build(cfg)
    assert model.no_weight_decay() <= {name for name, _ in model.named_parameters()}


@backbones
@pytest.mark.parametrize("scope", ["mmengine", "mmdet", "mmseg", "mmpretrain"])
def test_builds_from_every_scope(cfg, scope):
    import importlib

    registry = importlib.import_module(f"{scope}.registry").MODELS
    assert type(registry.build(copy.deepcopy(cfg))).__module__.startswith("csan_mm.")


def test_a_typo_lists_the_near_names():
    with pytest.raises(KeyError, match="did you mean SwinCSaN"):
        MODELS.build({"type": "csan_mm.SwinCsan"})
