"""The contract every backbone keeps, over every registered one: sizes, memory formats, freezing, checkpointing, depths."""

import copy
import re
from math import ceil

import pytest
import torch
from mmengine.registry import MODELS
from torch import nn

import csan_mm.backbones

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
    "vit-mala": {
        **VIT,
        "mixer": {"type": "mala", "gate": True, "local_enhancement": True},
        "ffn": "conv-mlp",
    },
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


#: Ends of the names of parameters that take no weight decay, besides norms and biases.
NO_DECAY = {
    "csan_mm.SwinCSaN": ("relative_position_bias_table",),
    "csan_mm.ViTCSaN": ("pos_embed", "cls_token", "reg_token"),
    "csan_mm.HieraCSaN": ("pos_embed", "pos_embed_win"),
    "csan_mm.CBT": ("pos_embed", "cls_token"),
    "csan_mm.WeightFormer": (".b", ".gain"),
    "csan_mm.MAViT": (),
}


def build(cfg: dict, **options) -> nn.Module:
    return MODELS.build({"drop_path_rate": 0.0, **copy.deepcopy(cfg), **options})


def build_loud(cfg: dict, **options) -> nn.Module:
    """In float64, with parameters so far from their start that each one moves the output by more than rounding does."""
    model = build(cfg, **options).double()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.mul_(0.5).add_(torch.randn_like(parameter), alpha=0.02 if "wfm" in name else 0.2)
    return model


def images(*size: int) -> torch.Tensor:
    return torch.randn(*size, dtype=torch.float64)


def loss(outputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """One fixed random projection of all outputs; a mean of squares behind a LayerNorm would hardly have a gradient."""
    generator = torch.Generator().manual_seed(0)
    return sum(
        (output * torch.randn(output.shape, generator=generator, dtype=torch.float64)).sum() / output.numel() ** 0.5
        for output in outputs
    )


def gradients(model: nn.Module, image: torch.Tensor) -> dict[str, torch.Tensor]:
    """Of the loss; a parameter without one is an error."""
    names, parameters = zip(*model.named_parameters())
    return dict(zip(names, torch.autograd.grad(loss(model(image)), parameters)))


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
    model, image = build_loud(cfg).eval(), images(2, 3, 40, 56)
    with torch.no_grad():
        plain = model(image)
        last = model.to(memory_format=torch.channels_last)(image.contiguous(memory_format=torch.channels_last))
    for one, other in zip(plain, last, strict=True):
        assert other.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)


@backbones
@torch.no_grad()
def test_images_of_a_batch_do_not_mix(cfg):
    model, image = build_loud(cfg).eval(), images(3, 3, 47, 70)
    for whole, *single in zip(model(image), *(model(one[None]) for one in image), strict=True):
        torch.testing.assert_close(whole, torch.cat(single), rtol=1e-8, atol=1e-8)
        assert not torch.allclose(whole[0], whole[1], rtol=1e-3, atol=1e-3)


@backbones
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast(cfg, dtype):
    """Outputs and gradients of one half type are near those of float32, each tensor measured by its own norm."""
    model, image = build(cfg), torch.randn(2, 3, 45, 64)
    with torch.no_grad():
        exact = model(image)
    with torch.autocast("cpu", dtype=dtype):
        outputs = model(image)
    for output, expected in zip(outputs, exact, strict=True):
        assert (output.float() - expected).norm() <= 0.1 * expected.norm()
    (got, wanted) = (
        torch.cat([grad.flatten() for grad in torch.autograd.grad(loss(maps), list(model.parameters()))])
        for maps in (outputs, model(image))
    )
    assert wanted.norm() > 0.1
    assert (got - wanted).norm() <= 0.2 * wanted.norm()


@backbones
@pytest.mark.parametrize("out_indices", [(0,), (1, 2), (0, 1, 2, 3)], ids=str)
def test_every_parameter_gets_a_gradient(cfg, out_indices):
    """In eval mode: a bias before a batch norm has none in training. Nor has what adds the same to all scores of a row."""
    model = build_loud(cfg, out_indices=out_indices).eval()
    silent = [name for name, grad in gradients(model, images(2, 3, 64, 96)).items() if not grad.norm() > 1e-6]
    assert silent == [f"blocks.{i}.attn.k_norm.bias" for i in range(max(out_indices) + 1) if cfg.get("qk_norm")]


@backbones
def test_gradients_are_the_slope(cfg):
    """Along one random direction of all parameters at once, by central differences: nothing is left out of the graph.

    At the size of the position embedding, which timm resizes in float32. The step is so small that the largest of Hiera's four
    queries hardly ever becomes another within it.
    """
    side = cfg.get("img_size", (40, 56))
    model, image = build_loud(cfg).eval(), images(2, 3, *(side if isinstance(side, tuple) else (side, side)))
    grads, step = gradients(model, image), 1e-8
    direction = {name: torch.randn_like(grad) for name, grad in grads.items()}
    start = {name: p.detach() for name, p in model.named_parameters()}
    with torch.no_grad():
        there, back = (
            loss(torch.func.functional_call(model, {n: p + t * direction[n] for n, p in start.items()}, (image,)))
            for t in (step, -step)
        )
    slope = sum((grads[name] * direction[name]).sum() for name in grads)
    size = sum(grads[name].norm() ** 2 for name in grads) ** 0.5
    assert (there - back).item() / (2 * step) == pytest.approx(slope.item(), abs=1e-4 * size.item())


@backbones
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_gradients_have_their_parameters_strides(cfg, memory_format):
    """What DDP's buckets have; others are copied there, with a warning. Several threads have kernels of their own."""
    model, image, threads = build(cfg), torch.randn(2, 3, 64, 96), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        loss(model(image.contiguous(memory_format=memory_format))).backward()
    finally:
        torch.set_num_threads(threads)
    other = [name for name, p in model.named_parameters() if p.grad is not None and p.grad.stride() != p.stride()]
    assert not other


@backbones
def test_checkpointing_recomputes_and_gives_the_same_gradients(cfg):
    """With stochastic depth on: the second run of a block must drop what the first one dropped."""
    plain = build_loud(cfg, with_cp=False, drop_path_rate=0.5)
    cheap = build(cfg, with_cp=True, drop_path_rate=0.5).double()
    cheap.load_state_dict(plain.state_dict())
    image, results = images(2, 3, 40, 40), []
    runs = {plain: 0, cheap: 0}
    for model in runs:
        blocks = [
            module for name, module in model.named_modules() if re.fullmatch(r"(layers\.\d+\.)?blocks\.\d+", name)
        ]
        assert len(blocks) == sum(model.depths)
        for block in blocks:
            block.register_forward_pre_hook(lambda *_, model=model: runs.__setitem__(model, runs[model] + 1))
        torch.manual_seed(1)
        results.append(gradients(model, image))
    assert list(runs.values()) == [len(blocks), 2 * len(blocks)]
    for name, grad in results[0].items():
        torch.testing.assert_close(results[1][name], grad, rtol=1e-8, atol=1e-8)


@backbones
def test_stochastic_depth_is_drawn_in_training_alone(cfg):
    model, image = build_loud(cfg, drop_path_rate=0.9), images(8, 3, 33, 40)
    with torch.no_grad():
        assert not torch.equal(model(image)[-1], model(image)[-1])
        model.eval()
        assert torch.equal(model(image)[-1], model(image)[-1])


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
    assert 0 < len(frozen) < len(list(model.parameters()))
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
    assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))


@backbones
def test_layer_depths_grow_along_the_network(cfg):
    model = build(cfg)
    _, layers = model.get_layer_depth("patch_embed.proj.weight")
    by_depth = {name: model.get_layer_depth(f"backbone.{name}", "backbone.") for name, _ in model.named_parameters()}
    assert {depth for depth, _ in by_depth.values()} == set(range(layers))
    assert {total for _, total in by_depth.values()} == {sum(model.depths) + 2}
    order = [depth for depth, _ in by_depth.values()]  # parameters are listed in the order of the data's way
    assert order == sorted(order)
    assert model.get_layer_depth("neck.conv.weight", "backbone.") == (layers - 1, layers)
    assert model.get_layer_depth("norm3.weight") == (layers - 1, layers)


@backbones
def test_parameters_without_decay(cfg):
    model, ends = build(cfg), NO_DECAY[cfg["type"]]
    wanted = {name for name, _ in model.named_parameters() if ends and name.endswith(ends)}
    assert model.no_weight_decay() == wanted
    has_none = not ends or (cfg["type"] == "csan_mm.SwinCSaN" and not model.layers[0].blocks[0].attn.has_scores)
    assert bool(wanted) != has_none


@backbones
@pytest.mark.parametrize("scope", ["mmengine", "mmdet", "mmseg", "mmpretrain"])
def test_builds_from_every_scope(cfg, scope):
    import importlib

    registry = importlib.import_module(f"{scope}.registry").MODELS
    assert type(registry.build(copy.deepcopy(cfg))) is getattr(csan_mm.backbones, cfg["type"].removeprefix("csan_mm."))


def test_a_typo_lists_the_near_names():
    with pytest.raises(KeyError, match="did you mean SwinCSaN"):
        MODELS.build({"type": "csan_mm.SwinCsan"})
