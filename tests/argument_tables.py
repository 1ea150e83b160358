"""What test_arguments.py goes through besides networks and hooks: layers, training, weights and data, and who builds the rest."""

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from csan_mm import engine
from csan_mm.analysis.coding_rate import CodingRates
from csan_mm.backbones import CBT, ViTCSaN
from csan_mm.checkpoint.pretrained import Pretrained
from csan_mm.datasets import DigitsGenerator, DigitsSpec
from csan_mm.layers.depthwise import DepthwiseConv2d
from csan_mm.layers.dynamic_conv import DynamicDepthwiseConv
from csan_mm.layers.dynamic_linear import DynamicLinear
from csan_mm.layers.ista import ISTA
from csan_mm.layers.mlp import ConvMlp
from csan_mm.layers.patches import PatchEmbed, PatchMerging
from csan_mm.layers.pyramid import PyramidFromDepths
from csan_mm.layers.rotary import Rotary2D
from csan_mm.layers.windows import WindowGrid

BLOCKS = {"embed_dims": 16, "depth": 1, "num_heads": 2}
TOKENS, GRID = (2, 16, 16), (4, 4)


def on_tokens(layer: nn.Module) -> Tensor:
    return layer(torch.zeros(TOKENS), GRID)


def on_rows(layer: nn.Module) -> Tensor:
    return layer(torch.zeros(TOKENS))


def on_channels_last(layer: nn.Module) -> Tensor:
    return layer(torch.zeros(1, 5, 6, 16))


def in_windows(grid: WindowGrid) -> Tensor:
    x = torch.zeros(1, *grid.size, 4)
    assert grid.restore(grid.merge(grid.split(x))).shape == x.shape
    return grid.mask(x)


def on_parameters(constructor: Any) -> Any:
    return constructor(ViTCSaN(BLOCKS, img_size=32))


def steps(scheduler: Any) -> list[float]:
    for _ in range(8):
        scheduler.optimizer.step()
        scheduler.step()
    return scheduler.get_last_value()


def sgd() -> torch.optim.SGD:
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    optimizer.param_groups[0]["initial_lr"] = 0.1  # as where a schedule is resumed
    return optimizer


ADAMW = {"type": "OptimWrapper", "optimizer": {"type": "AdamW", "lr": 1e-3, "weight_decay": 0.1}}
#: Class -> arguments of a small instance, and how it is run.
PARTS: dict[type, tuple[dict[str, Any], Callable[[Any], Any] | None]] = {
    DynamicLinear: ({"in_features": 16, "out_features": 8}, on_tokens),
    DynamicDepthwiseConv: ({"embed_dims": 16}, on_tokens),
    ISTA: ({"embed_dims": 16}, on_rows),
    ConvMlp: ({"embed_dims": 16, "hidden_dims": 8}, on_tokens),
    DepthwiseConv2d: ({"embed_dims": 16, "kernel_size": 3}, lambda layer: layer(torch.zeros(1, 16, 5, 6))),
    PatchEmbed: ({"in_channels": 3, "embed_dims": 8, "patch_size": 4}, lambda layer: layer(torch.zeros(1, 3, 9, 6))),
    PatchMerging: ({"embed_dims": 16}, on_channels_last),
    PyramidFromDepths: (
        {"embed_dims": 16, "stride": 8},
        lambda pyramid: [pyramid(torch.zeros(1, 16, 5, 6), i, torch.zeros(1, 3, 40, 48)) for i in range(4)],
    ),
    Rotary2D: ({"head_dims": 8}, lambda rotary: rotary(GRID, torch.zeros(1))),
    WindowGrid: ({"height": 9, "width": 6, "window_size": 4, "shift": 2}, in_windows),
    engine.LoadCheckHook: ({"checkpoint": "epoch_1.pth"}, None),
    engine.OptimWrapperConstructor: ({"optim_wrapper_cfg": ADAMW}, on_parameters),
    engine.LayerDecayOptimWrapperConstructor: (
        {"optim_wrapper_cfg": ADAMW, "paramwise_cfg": {"layer_decay_rate": 0.7}},
        on_parameters,
    ),
    engine.WarmupCosineLR: ({"optimizer": sgd(), "warmup": 2, "T_max": 6, "start_factor": 0.1}, steps),
    Pretrained: ({"checkpoint": "swin.pth", "source": "ms-swin"}, None),
    DigitsSpec: ({}, None),
    DigitsGenerator: ({"spec": DigitsSpec(image_size=64)}, lambda digits: digits.scene("train", 0)),
    CodingRates: ({"model": CBT(BLOCKS, img_size=32)}, None),
}

NOTHING_COUNTED = st.sampled_from([0, -1, 1.5, "2", None, True, [3], {}])
NO_FLAG = st.sampled_from([0, 1, "yes", None, [], 0.5])
NO_NUMBER = st.sampled_from([-1, -0.5, "a", None, True, float("nan"), float("inf"), []])
NO_CFG = st.sampled_from([3, "LN", {}, {"eps": 1.0}, [1], {"type": 5}])
NO_NORM = NO_CFG | st.just({"type": "Nonsense"})
NO_NAME = st.sampled_from(["nonsense", "", 3, None, ["csan"], {}])
NO_PAIR = st.sampled_from([5, (1,), (1, 2, 3), (5, 2), "12", (0.5, 2), (0, 3), (True, 3)])

#: Keys of paramwise_cfg with values that cannot be.
NO_FACTORS = [
    *({key: "a"} for key in ("norm_decay_mult", "bias_decay_mult", "dwconv_decay_mult", "flat_decay_mult")),
    *({key: -1} for key in ("bias_lr_mult", "dcn_offset_lr_mult", "norm_decay_mult")),
    *({"custom_keys": keys} for keys in (3, ["a"], {"a": 3}, {"a": {"lr_mult": None}}, {"a": {"decay_mult": "b"}})),
    *({"custom_keys": {"a": {"mult": 1}}}, {"bypass_duplicate": 1}, {"nonsense": 1}),
    *({"layer_decay_rate": rate} for rate in (0, 1.5, "a", None)),
    {"layer_decay_rate": 0.5, "decay_rate": 0.5},
]

#: Argument -> values that cannot be, where test_arguments.py has none.
WRONG_PARTS: dict[str, st.SearchStrategy] = {
    **dict.fromkeys(
        ("hidden_dims", "rate", "pooling", "in_features", "out_features", "height", "width"), NOTHING_COUNTED
    ),
    **dict.fromkeys(("train_count", "val_count", "T_max", "end"), NOTHING_COUNTED),
    "kernel_size": NOTHING_COUNTED | st.sampled_from([2, 4]),
    "stride": NOTHING_COUNTED | st.sampled_from([2, 6]),
    "seed": st.sampled_from([-1, 0.5, "1", None, True]),
    "shift": st.sampled_from([-1, 0.5, "1", None, True, 9]),
    "threshold": NO_NUMBER,
    **dict.fromkeys(("step_size", "epsilon"), NO_NUMBER | st.just(0)),
    "norm_eps": st.sampled_from([0, 0.0, -1, "a", True, float("nan"), []]),
    **dict.fromkeys(("min_match", "start_factor", "empty_fraction"), NO_NUMBER | st.just(1.5)),
    "eta_min": st.sampled_from([-1, "a", True, float("nan"), []]),
    "eta_min_ratio": st.sampled_from([-0.1, 1.5, "a", True, float("nan"), []]),
    **dict.fromkeys(("persistent", "strict", "trust", "by_epoch", "verbose"), NO_FLAG),
    "image_size": st.sampled_from([0, 16, (64, 64, 64), (64,), "224", None, 64.5, True, {}]),
    "digits_per_image": NO_PAIR,
    "digit_side": NO_PAIR | st.sampled_from([(4, 20), (8, 100)]),
    "spec": st.sampled_from([None, {}, 3, DigitsSpec]),
    **dict.fromkeys(("strategy", "part"), NO_NAME),
    "source": st.sampled_from(["nonsense", "", 3, ["csan-swin"], {}]),
    "checkpoint": st.sampled_from(["", 3, None, ["a.pth"], True]),
    "model": st.sampled_from([None, 3, nn.Linear, "model"]),
    "optimizer": st.sampled_from([None, 3, "SGD", {}, {"type": "SGD"}]),
    "optim_wrapper_cfg": st.sampled_from(
        [None, 3, "AdamW", {}, {"optimizer": 3}, {"optimizer": {}}, {"optimizer": {"type": "AdamW", "lr": "fast"}}]
    ),
    "paramwise_cfg": st.sampled_from([3, "norm", [], *NO_FACTORS]),
    **dict.fromkeys(("warmup", "begin"), st.sampled_from([-1, 0.5, "1", None, True])),
    "last_step": st.sampled_from([-2, 0.5, "1", None, True]),
}

RIGHT_PARTS: dict[str, list[Any]] = {
    "rate": [2],
    "pooling": [1, 4],
    "step_size": [1],
    "threshold": [0],
    "norm_eps": [None, 1e-6],
    "kernel_size": [1, 5],
    "stride": [4],
    "persistent": [True],
    "height": [1],
    "shift": [0, 3],
    "checkpoint": ["https://example.org/swin.safetensors"],
    "source": [None, "csan-swin"],
    "min_match": [0, 1],
    "trust": [True],
    "part": ["backbone"],
    "strict": [False],
    "paramwise_cfg": [
        {"layer_decay_rate": 1},
        {"decay_rate": 0.5, "norm_decay_mult": 0, "custom_keys": {"mlp": {"lr_mult": 0.1}}},
    ],
    "warmup": [0, 6],
    "T_max": [2],
    "start_factor": [0, 1],
    "eta_min": [None, 0, 0.01],
    "eta_min_ratio": [None, 0, 1],
    "begin": [1],
    "end": [3],
    "last_step": [3],
    "by_epoch": [False],
    "image_size": [64, (64, 96)],
    "digit_side": [None, (8, 20)],
    "empty_fraction": [0, 1],
    "spec": [DigitsSpec(image_size=(64, 48), seed=1)],
    "epsilon": [1],
}
#: (class, argument, value) that is not right there.
NOT_RIGHT_PARTS = [
    (WindowGrid, "window_size", None),
    (PatchMerging, "norm_eps", None),
    *((engine.OptimWrapperConstructor, "paramwise_cfg", value) for value in RIGHT_PARTS["paramwise_cfg"]),
]

#: Who builds the other classes of the packages whose classes users build -> their names.
NOT_BUILT_BY_USERS = {
    "nobody: bases of others, and what a backbone says of itself": [
        "backbones.base.DenseBackbone",
        "backbones.feature_info.FeatureInfo",
        "backbones.isotropic.IsotropicBackbone",
        "layers.conv.Conv2d",
        "layers.dynamic.DynamicLayer",
        "mixers.base.TokenMixer",
        "mixers.subspace.SubspaceMixer",
    ],
    "the backbone, mixer or head in whose file they stand, from checked arguments": [
        *(f"backbones.cbt.{name}" for name in ("ConvStem", "CBTBlock")),
        *(f"backbones.hiera.{name}" for name in ("HieraBlock", "HieraEmbed")),
        *(f"backbones.mavit.{name}" for name in ("SoftmaxOperator", "ChannelNorm", "GatedAttention", "ConvFFN")),
        *(f"backbones.mavit.{name}" for name in ("MAViTBlock", "Downsample", "ConvStem", "MAViTStage")),
        *(f"backbones.swin.{name}" for name in ("SwinBlock", "SwinStage")),
        *("backbones.vit.ViTBlock", "backbones.weightformer.WeightFormerBlock", "heads.cbt_head.CBTDecoderLayer"),
        *("mixers.csan.LinearGate", "mixers.csan.NoGain", "mixers.linear.LinearOperator", "mixers.mala.MALAOperator"),
    ],
    "functions that return them": [
        *(
            "analysis.attention_rows.Heads",
            "analysis.blocks.MixerCall",
            "analysis.budget.Columns",
            "analysis.csan_gains.GainMaps",
            "analysis.diagnostics.Finding",
            "analysis.representatives.RepresentativeMaps",
            "analysis.flops.Part",
            "analysis.input_sizes.Point",
            "analysis.projection_noise.NoisePoint",
        ),
        *("datasets.digits.Sources", "datasets.digits.Instance", "datasets.digits.Scene"),
        *("mixers.cbsa.Trace", "mixers.csan.Trace"),
        *("datasets.digits_layout.Placed", "checkpoint.pretrained.Match"),
    ],
    "tables of the package": [
        "analysis.input_sizes.Task",
        "analysis.diagnostics.Diagnostic",
        "checkpoint.convert.Source",
    ],
    "the command line's programs": [
        *("engine.results.ResultNames", "engine.results.LabelMaps", "engine.results.DrawResults"),
        *("engine.resume_rates.ResumeRatesHook", "checkpoint.export.TensorOutputs"),
        *("engine.saving.WholeFiles", "engine.saving.SafeSavingHook", "analysis.diagnostics.Options"),
    ],
    "who raises them": [
        "analysis.selfchecks.NotRunError",
        "checkpoint.export.ExportError",
        "datasets.digits_build.DigitsExistError",
    ],
}
