"""Hiera with compensated attention (Hiera: Ryali et al., ICML 2023; CSaN: CVPR 2026).

Maps stay (B, H, W, C) in spatial order throughout; mask units are windows that halve with the map, so that nothing has to be
unrolled. Parameter names are timm's.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from timm.layers import DropPath, trunc_normal_
from torch import Tensor, nn

from csan_mm.backbones.archs import resolve_arch, with_heads
from csan_mm.backbones.base import DenseBackbone, check_image, drop_path_rates
from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_size
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.conv import Conv2d
from csan_mm.layers.mlp import Mlp, hidden_width
from csan_mm.layers.padding import cells, pad_to_multiple
from csan_mm.layers.positions import refit_positions, resized_bicubic, resized_positions
from csan_mm.layers.windows import WindowGrid
from csan_mm.mixers.build import build_mixer, mixer_options
from csan_mm.registry import MODELS

NORM_EPS = 1e-6
STRIDE = 4
#: Tokens along the side of a mask unit in the first stage; each pooling halves it.
MASK_UNIT = 8
#: Query pooling joins 2 x 2 tokens.
POOL = 2

ARCHS = {
    "tiny": {"embed_dims": 96, "depths": (1, 2, 7, 2), "num_heads": 1},
    "tiny-plus": {"embed_dims": 96, "depths": (1, 2, 7, 2), "num_heads": 3},
    "small": {"embed_dims": 96, "depths": (1, 2, 11, 2), "num_heads": 1},
    "base-slim": {"embed_dims": 72, "depths": (2, 3, 16, 3), "num_heads": 1},
    "base": {"embed_dims": 96, "depths": (2, 3, 16, 3), "num_heads": 1},
    "base-plus": {"embed_dims": 112, "depths": (2, 3, 16, 3), "num_heads": 2},
    "large": {"embed_dims": 144, "depths": (2, 6, 36, 4), "num_heads": 2},
}


def pool_max(x: Tensor) -> Tensor:
    """Maximum over 2 x 2 cells: (B, H, W, C) -> (B, H/2, W/2, C)."""
    return x.unflatten(2, (-1, POOL)).unflatten(1, (-1, POOL)).amax(dim=(2, 4))


def group_cells(tokens: Tensor, side: tuple[int, int]) -> Tensor:
    """Put the 2 x 2 cells that share a query next to each other: (B, H * W, C) row by row -> (B, H/2 * W/2 * 4, C)."""
    (H, W), C = side, tokens.shape[-1]
    cells = tokens.reshape(-1, H // POOL, POOL, W // POOL, POOL, C).transpose(2, 3)
    return cells.reshape(-1, H * W, C)


class HieraBlock(nn.Module):
    """Attention in mask units or over the whole map, with or without query pooling; then the MLP.

    (B, H, W, C) -> (B, H, W, C), or (B, H/2, W/2, C_out) where queries are pooled; the shortcut is then the maximum of the
    projected, normed input.

    Args:
        embed_dims: C.
        out_dims: C_out; another width than C comes with query pooling.
        drop_path: Stochastic depth rate; the attention branch takes 0.75 of it where it is above 0.2.
        mixer: Options of :func:`build_mixer`.
        mlp_ratio: Width of the MLP over C_out.
        unit: Side of the mask units in tokens, before pooling; 0: attention is global.
    """

    def __init__(
        self, embed_dims: int, out_dims: int, drop_path: float, mixer: dict[str, Any], mlp_ratio: float, unit: int
    ) -> None:
        super().__init__()
        self.unit = unit
        self.pools = out_dims != embed_dims
        pooled = {"query_pool": POOL**2, "out_dims": out_dims} if self.pools else {}
        self.norm1 = nn.LayerNorm(embed_dims, eps=NORM_EPS)
        self.attn = build_mixer(embed_dims=embed_dims, **mixer, **pooled)
        self.proj = nn.Linear(embed_dims, out_dims) if self.pools else None
        self.norm2 = nn.LayerNorm(out_dims, eps=NORM_EPS)
        self.mlp = Mlp(out_dims, hidden_width(out_dims, mlp_ratio))
        self.drop_path1 = DropPath(0.75 * drop_path if drop_path > 0.2 else drop_path)
        self.drop_path2 = DropPath(drop_path)

    def forward(self, x: Tensor) -> Tensor:
        """Run the block on a map whose sides are multiples of the mask unit."""
        y = self.norm1(x)
        x = pool_max(self.proj(y)) if self.pools else x
        x = x + self.drop_path1(self.attend(y))
        return x + self.drop_path2(self.mlp(self.norm2(x)))

    def attend(self, x: Tensor) -> Tensor:
        """Attention of a map (B, H, W, C) within its mask units, or over all of it."""
        _, H, W, _ = x.shape
        step = POOL if self.pools else 1
        side = (self.unit, self.unit) if self.unit else (H, W)
        tokens = WindowGrid(H, W, self.unit).split(x) if self.unit else x.flatten(1, 2)
        if self.pools:
            tokens = group_cells(tokens, side)
        tokens = self.attn(tokens, side)
        if self.unit:
            return WindowGrid(H // step, W // step, self.unit // step).merge(tokens)
        return tokens.unflatten(1, (H // step, W // step))


class HieraEmbed(nn.Module):
    """Convolution 7x7, stride 4: (B, 3, H, W) -> (B, H/4, W/4, C)."""

    def __init__(self, in_channels: int, embed_dims: int) -> None:
        super().__init__()
        self.proj = Conv2d(in_channels, embed_dims, 7, stride=STRIDE, padding=3)

    def forward(self, image: Tensor) -> Tensor:
        """Embed an image whose sides are multiples of 4."""
        return self.proj(image).permute(0, 2, 3, 1)


@MODELS.register_module()
class HieraCSaN(DenseBackbone):
    """Hiera with compensated attention: image (B, 3, H, W) -> maps at strides 4, 8, 16, 32, any H and W.

    The image is padded with zeros to whole mask units (32 pixels) and the maps are cropped after; level i has exactly
    ceil(H / stride_i) x ceil(W / stride_i) cells, in spatial order.

    Args:
        arch: 'tiny', 'tiny-plus', 'small', 'base-slim', 'base', 'base-plus', 'large', or a dict with ``embed_dims`` and
            ``num_heads`` of stage 0, doubled by each further one, and ``depths``. Default: 'tiny'.
        mixer: 'csan', or 'softmax' for plain Hiera. Default: 'csan'.
        kappa: See :class:`csan_mm.mixers.CSaN`, like ``granularity``. Default: 'unbounded'.
        granularity: Default: 'unit'.
        heads: Number of heads in the first stage, doubled by each further one. Default: None, as ``arch`` has it.
        img_size: Side, or (H, W), of the images the position embedding is learned at. Default: 224.
        abs_win_pos_embed: Two position tables, one of 14 x 14 cells stretched over the map and one repeated in each mask unit
            (Bolya et al., "Window attention is bugged", 2023), in place of one per token. Default: False.
        in_channels: Default: 3.
        mlp_ratio: Default: 4.
        qkv_bias: Default: True.
        drop_path_rate: Stochastic depth of the last block; it grows linearly from 0. Default: 0.
        norm_cfg: See :class:`DenseBackbone`. Default: ``dict(type='LN', eps=1e-6)``.
        **shared: See :class:`DenseBackbone`: ``out_indices``, ``frozen_stages``, ``norm_eval``, ``with_cp``, ``init_cfg``.

    Raises:
        ValueError: An argument no network can be built from; the message says what would do.
    """

    archs = ARCHS

    def __init__(
        self,
        arch: str | dict[str, Any] = "tiny",
        mixer: str | dict[str, Any] = "csan",
        kappa: str = "unbounded",
        granularity: str = "unit",
        heads: int | None = None,
        img_size: int | Sequence[int] = 224,
        abs_win_pos_embed: bool = False,
        in_channels: int = 3,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = True,
        drop_path_rate: float = 0.0,
        norm_cfg: dict[str, Any] | None = {"type": "LN", "eps": NORM_EPS},  # noqa: B006 (plain data, never changed)
        **shared: Any,
    ) -> None:
        check_arguments(locals())
        dims = with_heads(resolve_arch(arch, ARCHS), heads)
        width, depths = dims["embed_dims"], dims["depths"]
        if len(depths) > 4:
            raise ArgumentError(
                f"arch={arch!r}: mask units of {MASK_UNIT} tokens halve three times, so depths has at most 4 stages"
            )
        if mixer_options(mixer)["type"] not in ("csan", "softmax"):
            raise ArgumentError(f"mixer={mixer!r} cannot pool queries: take 'csan' or 'softmax'")
        channels = [width * 2**i for i in range(len(depths))]
        strides = [STRIDE * 2**i for i in range(len(depths))]
        super().__init__(channels, strides, depths, norm_cfg=norm_cfg, **shared)
        self.all_strides = strides
        self.stage_ends = [sum(depths[: i + 1]) for i in range(self.num_built)]
        self.patch_embed = HieraEmbed(in_channels, width)
        self._add_positions(img_size, width, abs_win_pos_embed)
        shared = {"mixer": mixer, "kappa": kappa, "granularity": granularity, "qkv_bias": qkv_bias}
        rates = drop_path_rates(drop_path_rate, depths)
        units = [MASK_UNIT, MASK_UNIT // POOL, 0, 0]
        self.blocks = nn.ModuleList()
        for i in range(self.num_built):
            options = {**shared, "num_heads": dims["num_heads"] * 2**i}
            for j in range(depths[i]):
                # The first block of a stage works on the map, and in the mask units, of the stage before.
                before = i - 1 if i and j == 0 else i
                self.blocks.append(
                    HieraBlock(channels[before], channels[i], rates[i][j], options, mlp_ratio, units[before])
                )

    def _add_positions(self, img_size: int | Sequence[int], width: int, abs_win_pos_embed: bool) -> None:
        height, across = check_size("img_size", img_size)
        self.source_grid = (cells(height, STRIDE), cells(across, STRIDE))
        shape = (1, width, 14, 14) if abs_win_pos_embed else (1, self.source_grid[0] * self.source_grid[1], width)
        self.pos_embed = nn.Parameter(trunc_normal_(torch.zeros(shape), std=0.02))
        window = trunc_normal_(torch.zeros(1, width, MASK_UNIT, MASK_UNIT), std=0.02)
        self.pos_embed_win = nn.Parameter(window) if abs_win_pos_embed else None

    def levels(self, image: Tensor, wanted: Sequence[int]) -> tuple[Tensor, ...]:
        """Image (B, in_channels, H, W) -> the maps of some levels."""
        H, W = check_image(image).shape[-2:]
        x = self.patch_embed(pad_to_multiple(image, STRIDE * MASK_UNIT, axes=(2, 3)))  # (B, H/4, W/4, C)
        x = x + self.positions(x.shape[1], x.shape[2])
        outputs = []
        for i, block in enumerate(self.blocks):
            x = self.run_block(block, x)
            if i + 1 in self.stage_ends and (stage := self.stage_ends.index(i + 1)) in wanted:
                stride = self.all_strides[stage]
                outputs.append(self.output(x[:, : cells(H, stride), : cells(W, stride)], stage, image))
        return tuple(outputs)

    def positions(self, height: int, width: int) -> Tensor:
        """Position embedding of a map, (1, height, width, C), resized from the grid it is learned on."""
        if self.pos_embed_win is None:
            table = resized_positions(self.pos_embed, self.source_grid, (height, width), 0)
            return table.unflatten(1, (height, width))
        window = self.pos_embed_win.repeat(1, 1, height // MASK_UNIT, width // MASK_UNIT)
        stretched = resized_bicubic(self.pos_embed.permute(0, 2, 3, 1), (height, width))
        return stretched + window.permute(0, 2, 3, 1)

    def stage_name(self, level: int) -> str:
        """The last block of a stage."""
        return f"blocks.{self.stage_ends[level] - 1}"

    def parts(self) -> list[list[nn.Module | nn.Parameter]]:
        """Patch and position embedding, then the blocks of each stage."""
        positions = [table for table in (self.pos_embed, self.pos_embed_win) if table is not None]
        starts = [0, *self.stage_ends[:-1]]
        stages = [list(self.blocks[start:end]) for start, end in zip(starts, self.stage_ends)]
        return [[self.patch_embed, *positions], *stages]

    def block_of(self, param_name: str) -> int | None:
        """By the number behind ``blocks.``; norms stand behind the blocks, all else before them."""
        if param_name.startswith("blocks."):
            return int(param_name.split(".")[1])
        return None if param_name.startswith("norm") else -1

    @property
    def unbuilt_prefixes(self) -> tuple[str, ...]:
        """The blocks of the stages above the highest returned one."""
        return tuple(f"blocks.{i}." for i in range(self.stage_ends[-1], sum(self.depths)))

    def no_weight_decay(self) -> set[str]:
        """The position embeddings."""
        return {name for name in ("pos_embed", "pos_embed_win") if getattr(self, name) is not None}

    def adapt_state_dict(self, state: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
        """Resize positions learned on another grid."""
        table = state.get("pos_embed")
        if table is None or table.ndim != 3 or table.shape == self.pos_embed.shape or self.pos_embed_win is not None:
            return state, []
        table = refit_positions(table, self.pos_embed.detach(), self.source_grid, [0], 0)
        return {**state, "pos_embed": table}, [f"resized pos_embed to {self.source_grid[0]}x{self.source_grid[1]}"]

    @classmethod
    def read_dims(cls, state: dict[str, Tensor]) -> dict[str, Any] | None:
        """Width and depths; a stage's blocks are twice as wide as those of the one before."""
        if "patch_embed.proj.weight" not in state:
            return None
        counts = Counter(
            value.shape[0] for name, value in state.items() if re.fullmatch(r"blocks\.\d+\.mlp\.fc2\.bias", name)
        )
        depths = tuple(counts[width] for width in sorted(counts))
        return {"embed_dims": state["patch_embed.proj.weight"].shape[0], "depths": depths}
