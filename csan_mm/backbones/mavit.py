"""MAViT: a convolution-rich vision transformer on magnitude-aware linear attention (ICCV 2025, arXiv 2507.00698).

Maps are (B, H, W, C) inside; a convolution sees them as (B, C, H, W) in channels_last, which is the same memory. B images,
h heads of width d = C / h, N = H W tokens. Parameter names and shapes are those of the official checkpoints.
"""

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from timm.layers import DropPath, trunc_normal_
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from csan_mm.backbones.archs import resolve_arch
from csan_mm.backbones.base import DenseBackbone, check_image, drop_path_rates, init_weights_
from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_choice
from csan_mm.common.errors import ArgumentError
from csan_mm.common.norms import build_norm
from csan_mm.layers.conv import Conv2d
from csan_mm.layers.depthwise import DepthwiseConv2d
from csan_mm.layers.mlp import hidden_width
from csan_mm.layers.rotary import Rotary2D, Rotation, rotate
from csan_mm.mixers.base import merge_heads
from csan_mm.mixers.linear import LinearOperator
from csan_mm.mixers.mala import MALAOperator
from csan_mm.registry import MODELS

NORM_EPS = 1e-6

ARCHS = {
    "tiny": {
        "embed_dims": (64, 128, 256, 512),
        "depths": (2, 2, 6, 2),
        "num_heads": (1, 2, 4, 8),
        "layer_scale_init_values": (1.0, 1.0, 1.0, 1.0),
    },
    "small": {
        "embed_dims": (64, 128, 320, 512),
        "depths": (3, 5, 9, 3),
        "num_heads": (1, 2, 5, 8),
        "layer_scale_init_values": (1.0, 1.0, 1.0, 1.0),
    },
    "base": {
        "embed_dims": (96, 192, 384, 512),
        "depths": (4, 6, 12, 6),
        "num_heads": (1, 2, 6, 8),
        "layer_scale_init_values": (1.0, 1.0, 1e-6, 1e-6),
    },
    "large": {
        "embed_dims": (96, 192, 448, 640),
        "depths": (4, 7, 19, 8),
        "num_heads": (1, 2, 7, 10),
        "layer_scale_init_values": (1e-6, 1e-6, 1e-6, 1e-6),
    },
}


class SoftmaxOperator(nn.Module):
    """softmax_j(d^-0.5 q~_i . k~_j) v_j on heads, q~ and k~ rotated: q, k, v (B, h, N, d) -> (B, h, N, d).

    Args:
        num_heads: h.
        head_dims: d.
    """

    def __init__(self, num_heads: int, head_dims: int) -> None:
        super().__init__()
        self.scale = head_dims**-0.5

    def forward(self, q: Tensor, k: Tensor, v: Tensor, rotation: Rotation) -> Tensor:
        """Attend, with q and k turned by ``rotation``."""
        return scaled_dot_product_attention(rotate(q, rotation), rotate(k, rotation), v, scale=self.scale)


#: Kinds of attention: all act on q, k, v of one block's ``qkvo``, and none has parameters unless it is told to learn some.
OPERATORS = {"mala": MALAOperator, "linear": LinearOperator, "softmax": SoftmaxOperator}


def apply_nchw(module: nn.Module, x: Tensor) -> Tensor:
    """A convolution or batch norm on a map (B, H, W, C), without moving memory."""
    return module(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


class ChannelNorm(nn.Module):
    """LayerNorm over the channels of a map, under the name the checkpoints have; (B, H, W, C) -> (B, H, W, C)."""

    def __init__(self, embed_dims: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(embed_dims, eps=NORM_EPS)

    def forward(self, x: Tensor) -> Tensor:
        """Norm each cell."""
        return self.norm(x)


class GatedAttention(nn.Module):
    """proj((operator(q, k, v) + dwconv5x5(v)) * o), with q, k, v, o = qkvo(x); (B, H, W, C) -> (B, H, W, C).

    Args:
        embed_dims: C.
        num_heads: h.
        operator: Kind of attention as ``type``, and its options.
    """

    def __init__(self, embed_dims: int, num_heads: int, operator: dict[str, Any]) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.qkvo = Conv2d(embed_dims, 4 * embed_dims, 1)
        self.lepe = DepthwiseConv2d(embed_dims, 5)
        options = {key: value for key, value in operator.items() if key != "type"}
        self.operator = OPERATORS[operator["type"]](num_heads, embed_dims // num_heads, **options)
        self.proj = Conv2d(embed_dims, embed_dims, 1)

    def forward(self, x: Tensor, rotation: Rotation) -> Tensor:
        """Attend over the whole map."""
        q, k, v, o = apply_nchw(self.qkvo, x).chunk(4, dim=-1)  # (B, H, W, C) each
        y = self.operator(self.split_heads(q), self.split_heads(k), self.split_heads(v), rotation)  # (B, h, N, d)
        y = merge_heads(y).view_as(x) + apply_nchw(self.lepe, v)
        return apply_nchw(self.proj, y * o)

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, H, W, C) -> (B, h, N, d)."""
        return x.flatten(1, 2).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


class ConvFFN(nn.Module):
    """fc2(y + dwconv3x3(y)), y = GELU(fc1(x)); (B, H, W, C) -> (B, H, W, C).

    Args:
        embed_dims: C.
        hidden_dims: Width of y.
    """

    def __init__(self, embed_dims: int, hidden_dims: int) -> None:
        super().__init__()
        self.fc1 = Conv2d(embed_dims, hidden_dims, 1)
        self.act = nn.GELU()
        self.dwconv = DepthwiseConv2d(hidden_dims, 3)
        self.fc2 = Conv2d(hidden_dims, embed_dims, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Run the network on each cell and its neighbours."""
        y = self.act(apply_nchw(self.fc1, x))
        return apply_nchw(self.fc2, y + apply_nchw(self.dwconv, y))


class MAViTBlock(nn.Module):
    """x += dwconv3x3(x); x += drop(gamma_1 attn(norm1(x))); x += drop(gamma_2 ffn(norm2(x))); (B, H, W, C) -> (B, H, W, C).

    Args:
        embed_dims: C.
        num_heads: h.
        operator: See :class:`GatedAttention`.
        mlp_ratio: Width of the FFN over C.
        drop_path: Stochastic depth rate of both branches.
        layer_scale: Start of gamma; ``None``: no gamma.
    """

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        operator: dict[str, Any],
        mlp_ratio: float,
        drop_path: float,
        layer_scale: float | None,
    ) -> None:
        super().__init__()
        self.pos = DepthwiseConv2d(embed_dims, 3)
        self.norm1 = ChannelNorm(embed_dims)
        self.attn = GatedAttention(embed_dims, num_heads, operator)
        self.norm2 = ChannelNorm(embed_dims)
        self.ffn = ConvFFN(embed_dims, hidden_width(embed_dims, mlp_ratio))
        self.drop_path = DropPath(drop_path)
        self.gamma_1, self.gamma_2 = None, None
        if layer_scale is not None:
            self.gamma_1 = nn.Parameter(torch.full((1, embed_dims, 1, 1), float(layer_scale)))
            self.gamma_2 = nn.Parameter(torch.full((1, embed_dims, 1, 1), float(layer_scale)))

    def forward(self, x: Tensor, rotation: Rotation) -> Tensor:
        """Run the block on a map whose cells' places are in ``rotation``."""
        x = x + apply_nchw(self.pos, x)
        x = x + self.drop_path(scaled(self.attn(self.norm1(x), rotation), self.gamma_1))
        return x + self.drop_path(scaled(self.ffn(self.norm2(x)), self.gamma_2))


def scaled(x: Tensor, gamma: Tensor | None) -> Tensor:
    """A map (B, H, W, C) times layer scale (1, C, 1, 1), if there is one."""
    return x if gamma is None else x * gamma.flatten()


class Downsample(nn.Module):
    """conv3x3 of stride 2, then a batch norm: (B, H, W, C) -> (B, ceil(H/2), ceil(W/2), C')."""

    def __init__(self, in_channels: int, out_channels: int, norm_cfg: dict[str, Any]) -> None:
        super().__init__()
        self.reduction = Conv2d(in_channels, out_channels, 3, stride=2, padding=1)
        self.norm = build_norm("conv_norm_cfg", norm_cfg, out_channels)

    def forward(self, x: Tensor) -> Tensor:
        """Halve the map."""
        return self.norm(self.reduction(x.permute(0, 3, 1, 2))).permute(0, 2, 3, 1)


class ConvStem(nn.Module):
    """Four 3x3 convolutions with batch norms, strides 2, 1, 1, 2: (B, 3, H, W) -> (B, ceil(H/4), ceil(W/4), C)."""

    def __init__(self, in_channels: int, embed_dims: int, norm_cfg: dict[str, Any]) -> None:
        super().__init__()
        half = embed_dims // 2
        layers = []
        for before, width, stride in [(in_channels, half, 2), (half, half, 1), (half, half, 1), (half, embed_dims, 2)]:
            conv = Conv2d(before, width, 3, stride=stride, padding=1)
            layers += [conv, build_norm("conv_norm_cfg", norm_cfg, width), nn.GELU()]
        self.proj = nn.Sequential(*layers[:-1])

    def forward(self, image: Tensor) -> Tensor:
        """Embed an image."""
        return self.proj(image.contiguous(memory_format=torch.channels_last)).permute(0, 2, 3, 1)


class MAViTStage(nn.Module):
    """Blocks that share one rotation, then optional down-sampling to the next stage's map."""

    def __init__(self, blocks: Sequence[MAViTBlock], head_dims: int, downsample: Downsample | None) -> None:
        super().__init__()
        self.RoPE = Rotary2D(head_dims, persistent=True)
        self.blocks = nn.ModuleList(blocks)
        self.downsample = downsample


@MODELS.register_module()
class MAViT(DenseBackbone):
    """MAViT: image (B, 3, H, W) -> maps at strides 4, 8, 16, 32, any H and W.

    Stages 1 and 2 attend linearly (MALA), stages 3 and 4 by softmax, with the same parameters.

    Args:
        arch: 'tiny', 'small', 'base', 'large', or a dict with ``embed_dims`` (one width per stage), ``depths``, ``num_heads``
            and optionally ``layer_scale`` (a bool per stage, default True) and ``layer_scale_init_values`` (a number per
            stage, default 1). Default: 'tiny'.
        attention: Kind of attention: one for all stages, or one entry per stage. An entry is a kind or a sequence with one
            kind per block. A kind is 'mala', 'linear', 'softmax', or a dict with that name as ``type`` and the options of
            :class:`MALAOperator` or :class:`LinearOperator`. Default: ('mala', 'mala', 'softmax', 'softmax').
        mala: Options of :class:`MALAOperator` for every block of kind 'mala' that does not set them itself, the others stay as
            they are: ``dict(use_beta=False)`` is the paper's row "no beta". Default: None.
        in_channels: Channels of the image. Default: 3.
        mlp_ratio: Width of the FFN over that of its stage. Default: 3.5.
        conv_norm_cfg: The norms behind the convolutions of the stem and between stages: BN, SyncBN, with or without
            ``requires_grad``. Default: ``dict(type='BN')``.
        drop_path_rate: Stochastic depth of the last block; it grows linearly from 0. Default: 0.1.
        norm_cfg: See :class:`DenseBackbone`. Default: ``dict(type='LN', eps=1e-6)``.
        **shared: See :class:`DenseBackbone`: ``out_indices``, ``frozen_stages``, ``norm_eval``, ``with_cp``, ``init_cfg``.

    Raises:
        ValueError: An argument no network can be built from; the message says what would do.
    """

    archs = ARCHS

    def __init__(
        self,
        arch: str | dict[str, Any] = "tiny",
        attention: str | dict[str, Any] | Sequence[Any] = ("mala", "mala", "softmax", "softmax"),
        mala: dict[str, Any] | None = None,
        in_channels: int = 3,
        mlp_ratio: float = 3.5,
        conv_norm_cfg: dict[str, Any] = {"type": "BN"},  # noqa: B006 (plain data for configs, never changed)
        drop_path_rate: float = 0.1,
        norm_cfg: dict[str, Any] | None = {"type": "LN", "eps": NORM_EPS},  # noqa: B006
        **shared: Any,
    ) -> None:
        check_arguments(locals())
        dims = resolve_dims(arch)
        widths, depths, heads = dims["embed_dims"], dims["depths"], dims["num_heads"]
        operators = with_mala(resolve_attention(attention, depths), mala)
        strides = [4 * 2**i for i in range(len(depths))]
        super().__init__(widths, strides, depths, norm_cfg=norm_cfg, **shared)
        self.patch_embed = ConvStem(in_channels, widths[0], conv_norm_cfg)
        rates = drop_path_rates(drop_path_rate, depths)
        scales = [start if on else None for on, start in zip(dims["layer_scale"], dims["layer_scale_init_values"])]
        self.layers = nn.ModuleList()
        for i in range(self.num_built):
            blocks = [
                MAViTBlock(widths[i], heads[i], operator, mlp_ratio, rate, scales[i])
                for operator, rate in zip(operators[i], rates[i])
            ]
            downsample = Downsample(widths[i], widths[i + 1], conv_norm_cfg) if i + 1 < self.num_built else None
            self.layers.append(MAViTStage(blocks, widths[i] // heads[i], downsample))

    def levels(self, image: Tensor, wanted: Sequence[int]) -> tuple[Tensor, ...]:
        """Image (B, in_channels, H, W) -> the maps of some levels."""
        x = self.patch_embed(check_image(image))  # (B, ceil(H/4), ceil(W/4), C)
        outputs = []
        for i, stage in enumerate(self.layers):
            rotation = stage.RoPE(x.shape[1:3], x)
            for block in stage.blocks:
                x = self.run_block(block, x, rotation)
            if i in wanted:
                outputs.append(self.output(x, i, image))
            if stage.downsample is not None:
                x = stage.downsample(x)
        return tuple(outputs)

    def stage_name(self, level: int) -> str:
        """The last block of a stage."""
        return f"layers.{level}.blocks.{self.depths[level] - 1}"

    def parts(self) -> list[list[nn.Module | nn.Parameter]]:
        """The stem, then the stages; the down-sampling between two belongs to the later one."""
        before = [None, *[stage.downsample for stage in self.layers]]
        return [
            [self.patch_embed],
            *[[*([down] if down is not None else []), stage.blocks] for down, stage in zip(before, self.layers)],
        ]

    def block_of(self, param_name: str) -> int | None:
        """Down-sampling counts as part of the block it stands before."""
        if param_name.startswith("patch_embed."):
            return -1
        if not param_name.startswith("layers."):
            return None
        _, stage, kind, block, *_ = param_name.split(".")
        done = sum(self.depths[: int(stage)])
        return done + (int(block) if kind == "blocks" else self.depths[int(stage)])

    @property
    def unbuilt_prefixes(self) -> tuple[str, ...]:
        """The stages above the highest returned level, and the way to them."""
        above = tuple(f"layers.{i}." for i in range(self.num_built, len(self.depths)))
        return (f"layers.{self.num_built - 1}.downsample.", *above) if above else ()

    @staticmethod
    def init_module_(module: nn.Module) -> None:
        """Every convolution starts from a truncated normal 0.02 and a zero bias, all else as elsewhere."""
        if isinstance(module, nn.Conv2d):
            trunc_normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)
        else:
            init_weights_(module)

    @classmethod
    def read_dims(cls, state: dict[str, Tensor]) -> dict[str, Any] | None:
        """Widths and depths."""
        found = re.compile(r"layers\.(\d+)\.blocks\.\d+\.attn\.proj\.weight").fullmatch
        stages = [(int(match[1]), value.shape[0]) for name, value in state.items() if (match := found(name))]
        counts, widths = Counter(stage for stage, _ in stages), dict(stages)
        order = sorted(counts)
        dims = {"embed_dims": tuple(widths[i] for i in order), "depths": tuple(counts[i] for i in order)}
        return dims if order else None


def resolve_dims(arch: str | dict[str, Any]) -> dict[str, Any]:
    """The dims of a variant, one entry per stage in each.

    Raises:
        ValueError: An unknown name or key, lists of different lengths, widths that cannot be halved or split over heads.
    """
    dims = resolve_arch(arch, ARCHS, optional=("layer_scale", "layer_scale_init_values"))
    stages = len(dims["depths"])
    dims = {"layer_scale": (True,) * stages, "layer_scale_init_values": (1.0,) * stages, **dims}
    lengths = {key: len(value) for key, value in dims.items()}
    if set(lengths.values()) != {stages}:
        raise ArgumentError(f"arch={arch!r} must have one entry per stage in each list, got {lengths}")
    for width, heads in zip(dims["embed_dims"], dims["num_heads"]):
        if heads < 1 or width % heads:
            raise ArgumentError(f"num_heads={heads} does not divide embed_dims={width}: take a divisor of the width")
    if dims["embed_dims"][0] % 2:
        raise ArgumentError(f"embed_dims={dims['embed_dims'][0]}: the stem halves the first width, take an even one")
    return dims


def resolve_attention(
    attention: str | dict[str, Any] | Sequence[Any], depths: Sequence[int]
) -> list[list[dict[str, Any]]]:
    """The operator of each block as a dict with ``type``, from what :class:`MAViT` takes.

    Raises:
        ValueError: Not one entry per stage, or per block of a stage; an unknown kind.
    """
    if not isinstance(attention, str | dict | Sequence):
        raise ArgumentError(f"attention={attention!r} is invalid: take {', '.join(OPERATORS)}, or a kind per stage")
    stages = [attention] * len(depths) if isinstance(attention, str | dict) else list(attention)
    if len(stages) != len(depths):
        raise ArgumentError(
            f"attention={attention!r} has {len(stages)} entries for {len(depths)} stages: give one kind, or one entry per stage"
        )
    if wrong := [entry for entry in stages if not isinstance(entry, str | dict | Sequence)]:
        raise ArgumentError(
            f"attention: {wrong[0]!r} is not a kind: take {', '.join(OPERATORS)}, or a dict with one as `type`"
        )
    blocks = [[entry] * depth if isinstance(entry, str | dict) else list(entry) for entry, depth in zip(stages, depths)]
    for i, (kinds, depth) in enumerate(zip(blocks, depths)):
        if len(kinds) != depth:
            raise ArgumentError(
                f"attention={attention!r} has {len(kinds)} kinds for the {depth} blocks of stage {i}: give one, or one per block"
            )
    return [[_operator(kind) for kind in kinds] for kinds in blocks]


def with_mala(operators: list[list[dict[str, Any]]], mala: dict[str, Any] | None) -> list[list[dict[str, Any]]]:
    """The operators of all blocks, those of kind 'mala' with these options where they do not set them themselves.

    Raises:
        ValueError: No dict of such options, or no such block.
    """
    if mala is None:
        return operators
    if not isinstance(mala, Mapping) or "type" in mala:
        raise ArgumentError(f"mala={mala!r} is not a dict of options: take for instance dict(use_beta=False)")
    _check_options("mala", "mala", mala)
    if not any(operator["type"] == "mala" for blocks in operators for operator in blocks):
        raise ArgumentError(f"mala={dict(mala)!r} has no block to act on: attention= names no 'mala'")
    return [
        [{**mala, **operator} if operator["type"] == "mala" else operator for operator in blocks]
        for blocks in operators
    ]


def _check_options(name: str, kind: str, options: Iterable[str]) -> None:
    known = [
        option for option in inspect.signature(OPERATORS[kind]).parameters if option not in ("num_heads", "head_dims")
    ]
    if unknown := sorted(set(options) - set(known)):
        raise ArgumentError(
            f"{name}: {kind!r} has no option {', '.join(unknown)}: it takes {', '.join(known) or 'none'}"
        )


def _operator(kind: str | dict[str, Any]) -> dict[str, Any]:
    if not isinstance(kind, str | dict):
        raise ArgumentError(
            f"attention: {kind!r} is not a kind: take {', '.join(OPERATORS)}, or a dict with one as `type`"
        )
    operator = {"type": kind} if isinstance(kind, str) else dict(kind)
    check_choice("attention", operator.get("type"), tuple(OPERATORS))
    _check_options("attention", operator["type"], set(operator) - {"type"})
    return operator
