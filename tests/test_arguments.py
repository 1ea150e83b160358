"""Every argument of every backbone, mixer, neck, head and hook: right values build and run, wrong ones are named."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import pytest
import torch
from argument_tables import (
    NO_CFG,
    NO_FLAG,
    NO_NAME,
    NO_NORM,
    NO_NUMBER,
    NOT_BUILT_BY_USERS,
    NOT_RIGHT_PARTS,
    NOTHING_COUNTED,
    PARTS,
    RIGHT_PARTS,
    WRONG_PARTS,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import csan_mm
from csan_mm import backbones, engine, mixers, necks
from csan_mm.common.errors import ArgumentError
from csan_mm.heads import CBTHead

STAGES = {"embed_dims": 16, "depths": (1, 1), "num_heads": (1, 2)}
BLOCKS = {"embed_dims": 16, "depth": 2, "num_heads": 2}
MAVIT = {"embed_dims": (8, 16), "depths": (1, 1), "num_heads": (1, 2)}
IMAGE, TOKENS = (1, 3, 40, 56), (2, 16, 16)


def on_image(model: nn.Module) -> Any:
    return model.eval()(torch.zeros(1, getattr(model, "test_channels", 3), 40, 56))


def on_tokens(mixer: nn.Module) -> Tensor:
    return mixer(torch.zeros(TOKENS), (4, 4))


def on_map(part: nn.Module) -> Any:
    return part.eval()((torch.zeros(1, 16, 5, 6),))


#: Class -> arguments of a small instance, and how it is run.
CLASSES: dict[type, tuple[dict[str, Any], Callable[[Any], Any] | None]] = {
    backbones.SwinCSaN: ({"arch": STAGES, "out_indices": (0, 1)}, on_image),
    backbones.ViTCSaN: ({"arch": BLOCKS, "img_size": 64}, on_image),
    backbones.HieraCSaN: ({"arch": {**STAGES, "num_heads": 1}, "out_indices": (0, 1), "img_size": 64}, on_image),
    backbones.MAViT: ({"arch": MAVIT, "attention": ("mala", "softmax"), "out_indices": (0, 1)}, on_image),
    backbones.WeightFormer: ({"arch": {"embed_dims": 16, "depth": 2}, "dynamic": 2}, on_image),
    backbones.CBT: ({"arch": BLOCKS, "img_size": 64}, on_image),
    **dict.fromkeys(
        (
            mixers.CSaN,
            mixers.SoftmaxAttention,
            mixers.LinearAttention,
            mixers.MALA,
            mixers.CBSA,
            mixers.MSSA,
            mixers.TSSA,
            mixers.AdaptedCBSA,
        ),
        ({"embed_dims": 16, "num_heads": 2}, on_tokens),
    ),
    necks.SimpleFPN: ({"in_channels": 16}, on_map),
    necks.MAViTNeck: ({"in_channels": 16, "out_channels": 8}, on_map),
    CBTHead: ({"in_channels": 16, "num_classes": 3}, on_map),
    engine.NonFiniteHook: ({}, None),
    engine.DynamicNormHook: ({}, None),
    engine.CPUThreadsHook: ({}, None),
}

#: Argument -> values that cannot be, in whichever class it stands.
WRONG: dict[str, st.SearchStrategy] = {
    **dict.fromkeys(("in_channels", "patch_size", "embed_dims", "num_heads", "query_pool"), NOTHING_COUNTED),
    **dict.fromkeys(("out_channels", "num_outs", "num_layers", "head_dims", "num_classes"), NOTHING_COUNTED),
    **dict.fromkeys(("attention_ratio", "interval", "min_interval", "u_reduction", "z_reduction"), NOTHING_COUNTED),
    **dict.fromkeys(("out_dims", "inner_dims"), st.sampled_from([0, -1, 1.5, "2", True, [3], {}])),
    "heads": st.sampled_from([0, -1, 1.5, "2", True, (), (1, 2, 4), (0, 1), {}]),
    "num_registers": st.sampled_from([-1, 0.5, "1", None, True]),
    "window_size": st.sampled_from([-1, 1.5, "7", True, [7]]),
    "global_indices": st.sampled_from([5, (7,), "0", (0.5,), None, 0.5]),
    "added_eps": NO_NUMBER,
    "off": st.sampled_from([("nonsense",), ("tau", "nonsense")]),
    **dict.fromkeys(("mlp_ratio", "cls_std", "warn_above", "slower", "bend"), NO_NUMBER | st.just(0)),
    "layer_scale": st.sampled_from([0, 0.0, -1, "a", True, float("nan"), []]),
    "drop_path_rate": NO_NUMBER | st.sampled_from([1, 1.5]),
    "qkv_bias": st.sampled_from([1, "yes", [], 0.5]),
    **dict.fromkeys(
        ("qk_norm", "with_cls_token", "no_embed_class", "final_norm", "norm_eval", "with_cp", "abs_win_pos_embed"),
        NO_FLAG,
    ),
    **dict.fromkeys(("legacy_pooling", "contraction", "align_corners", "rotary", "rotary_in_z"), NO_FLAG),
    **dict.fromkeys(
        ("gate", "local_enhancement", "use_beta", "use_gamma", "learnable", "pooled_mu", "unit_queries"), NO_FLAG
    ),
    **dict.fromkeys(("rate",), NOTHING_COUNTED),
    "pooling": NOTHING_COUNTED | st.sampled_from([3, 6]),
    "img_size": st.sampled_from([0, -1, (1, 2, 3), (4,), (0, 3), "224", None, 1.5, True, {}]),
    "out_indices": st.sampled_from([9, -9, (0, 0), (), "0", None, 0.5, (0.5,), True]),
    "frozen_stages": st.sampled_from([-2, 9, 0.5, "1", None, True]),
    "norm_cfg": NO_NORM,
    **dict.fromkeys(("stem_norm_cfg", "conv_norm_cfg"), NO_NORM | st.none()),
    "init_cfg": NO_CFG,
    **dict.fromkeys(("kappa", "granularity", "ffn", "version", "out_type"), NO_NAME),
    **dict.fromkeys(("linear_strategy", "conv_strategy", "dynamic_linears", "kernel", "representatives"), NO_NAME),
    "mixer": NO_NAME | st.sampled_from([{"rep_grid": 3}, {"type": "nonsense"}, {"type": "csan", "nonsense": 1}]),
    "mala": st.sampled_from([3, "relu", [], {"type": "linear"}, {"nonsense": 1}]),
    "attention": NO_NAME | st.sampled_from([("mala",), {"type": "nonsense"}, ("mala", 5)]),
    "arch": st.sampled_from(["nonsense", 5, None, {}, {"embed_dims": 16}, ["tiny"], {**BLOCKS, "depths": ()}]),
    "dynamic": st.sampled_from([0, -1, True, 1.5, (9,), (0, 0), "2", None]),
    "rep_grid": st.sampled_from([0, -1, (1, 2, 3), (0, 2), "8", 1.5, True]),
    "rescales": st.sampled_from([(), (1, 2), (3,), None, 4, "4"]),
}
#: What other packages check, or nobody can: see mmseg's BaseDecodeHead.
THEIRS = {"in_index", "loss_decode", "ignore_index", "sampler"}

RIGHT: dict[str, list[Any]] = {
    "rep_grid": [None, 2, (2, 3)],
    "dynamic_linears": ["second", "both"],
    "rate": [2],
    "pooling": [1, 4],
    "contraction": [False],
    "legacy_pooling": [True],
    "in_channels": [3],
    "patch_size": [8],
    "num_registers": [2],
    "mlp_ratio": [1, 2.5],
    "layer_scale": [None, 1e-6, 1],
    "drop_path_rate": [0, 0.5],
    "qkv_bias": [None, False],
    "img_size": [32, (32, 48), [32, 48]],
    "out_indices": [1, [0, 1], -1],
    "frozen_stages": [-1, 0, 2],
    "norm_cfg": [None, {"type": "BN"}, {"type": "GN", "num_groups": 2}],
    "kappa": ["bounded"],
    "granularity": ["head"],
    "mixer": ["softmax", {"type": "csan", "qk_norm": True}],
    "with_cp": [True],
    "norm_eval": [True],
    "init_cfg": [None, {"type": "Normal", "layer": "Linear"}, [{"type": "Normal", "layer": "Linear"}]],
    "window_size": [None, 4],
    "inner_dims": [None, 32],
    "heads": [None, 4],
    "unit_queries": [True],
    "ffn": ["attention"],
    "mala": [{"use_beta": False}, {"learnable": True, "kernel": "exp"}],
    "bend": [1, 0.5],
    "u_reduction": [2, 8],
    "z_reduction": [1, 4],
    "pooled_mu": [True],
}
NOT_RIGHT = {  # of some classes
    (backbones.SwinCSaN, "window_size", None),
    (backbones.ViTCSaN, "window_size", None),
    (backbones.ViTCSaN, "window_size", 4),  # with_cls_token=False goes with it
}


CLASSES |= PARTS
WRONG |= WRONG_PARTS
RIGHT |= RIGHT_PARTS


def arguments(kind: type) -> list[str]:
    return [name for name in inspect.signature(kind.__init__).parameters if name not in ("self", *THEIRS)]


ALL = [(kind, name) for kind in CLASSES for name in arguments(kind)]
RIGHT_CASES = [
    (kind, name, value)
    for kind, name in ALL
    for value in RIGHT.get(name, [])
    if not any(
        ((kind, name) == entry[:2] and value is entry[2]) or (kind, name, value) == entry
        for entry in [*NOT_RIGHT, *NOT_RIGHT_PARTS]
    )
    and not (name == "qkv_bias" and value is None and kind.__module__.startswith("csan_mm.mixers"))
    and not (name == "in_channels" and kind in (necks.SimpleFPN, necks.MAViTNeck, CBTHead))
]


#: Packages whose classes users name in configs or build in their own code; the others hold the programs of the command line.
PACKAGES = ("analysis", "backbones", "checkpoint", "datasets", "engine", "heads", "layers", "mixers", "necks")


def public_classes() -> set[str]:
    """Full names of the classes without a leading underscore that these packages define, "csan_mm." left out."""
    folders = [f"{csan_mm.__path__[0]}/{package}" for package in PACKAGES]
    names = [
        f"csan_mm.{package}.{file.name}"
        for package, folder in zip(PACKAGES, folders)
        for file in pkgutil.iter_modules([folder])
    ]
    modules = map(importlib.import_module, names)
    kinds = [
        kind
        for module in modules
        for kind in vars(module).values()
        if getattr(kind, "__module__", "") == module.__name__
    ]
    return {full_name(kind) for kind in kinds if inspect.isclass(kind) and not kind.__name__.startswith("_")}


def full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}".removeprefix("csan_mm.")


def test_every_public_class_is_here():
    """A class that users build is tried below; of any other it is said who builds it."""
    tried = {full_name(kind) for kind in CLASSES}
    internal = {name for names in NOT_BUILT_BY_USERS.values() for name in names}
    assert not tried & internal
    assert public_classes() == tried | internal


def test_every_argument_has_its_wrong_values():
    assert {name for _, name in ALL} == set(WRONG)


@pytest.mark.parametrize(("kind", "name"), ALL, ids=[f"{kind.__name__}-{name}" for kind, name in ALL])
@given(data=st.data())
@settings(max_examples=14, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
def test_a_wrong_value_is_named(kind, name, data):
    value = data.draw(WRONG[name])
    with pytest.raises(ArgumentError) as caught:
        kind(**{**CLASSES[kind][0], name: value})
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "name", "value"), RIGHT_CASES, ids=[f"{kind.__name__}-{name}={value}" for kind, name, value in RIGHT_CASES]
)
def test_a_right_value_builds_and_runs(kind, name, value):
    builds_and_runs(kind, {name: value})


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_the_small_instance_builds_and_runs(kind):
    builds_and_runs(kind, {})


def builds_and_runs(kind, changed):
    small, run = CLASSES[kind]
    built = kind(**{**small, **changed})
    if run is not None:
        with torch.no_grad():
            run(built)


def test_no_layer_scale_and_one_that_starts_from_a_number():
    for scale, expected in ((None, 0), (1e-6, 2 * BLOCKS["depth"])):
        model = backbones.ViTCSaN(BLOCKS, img_size=32, layer_scale=scale)
        assert sum(name.endswith("gamma") for name, _ in model.named_parameters()) == expected


def test_an_option_that_the_mixer_does_not_have_is_checked_all_the_same():
    with pytest.raises(ArgumentError, match="kappa='nonsense' is unknown"):
        backbones.ViTCSaN(BLOCKS, mixer="softmax", kappa="nonsense")
    assert on_image(backbones.HieraCSaN({**STAGES, "num_heads": 1}, out_indices=0, mixer={"type": "csan"}))
