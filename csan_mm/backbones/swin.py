"""Swin Transformer whose window attention is any of the papers' mixers (Swin: Liu et al., ICCV 2021; CSaN: CVPR 2026).

Maps are (B, H, W, C) inside; B images, C channels. Parameter names are those of the official checkpoints.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from timm.layers import DropPath, resize_rel_pos_bias_table
from torch import Tensor, nn

from csan_mm.backbones.archs import resolve_arch, with_heads
from csan_mm.backbones.base import DenseBackbone, check_image, drop_path_rates
from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_choice
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.depthwise import DepthwiseConv2d
from csan_mm.layers.mlp import Mlp, hidden_width
from csan_mm.layers.patches import PatchEmbed, PatchMerging
from csan_mm.layers.windows import WindowGrid
from csan_mm.mixers.build import build_mixer, widened
from csan_mm.registry import MODELS

NORM_EPS = 1e-5

ARCHS = {
    "min": {"embed_dims": 96, "depths": (1, 1, 1, 1), "num_heads": (3, 6, 12, 24)},
    "micro": {"embed_dims": 96, "depths": (1, 2, 2, 2), "num_heads": (3, 6, 12, 24)},
    "tiny-slim": {"embed_dims": 64, "depths": (2, 2, 6, 2), "num_heads": (2, 4, 8, 16)},
    "tiny": {"embed_dims": 96, "depths": (2, 2, 6, 2), "num_heads": (3, 6, 12, 24)},
    "small": {"embed_dims": 96, "depths": (2, 2, 18, 2), "num_heads": (3, 6, 12, 24)},
    "base": {"embed_dims": 128, "depths": (2, 2, 18, 2), "num_heads": (4, 8, 16, 32)},
}


class SwinBlock(nn.Module):
    """x += drop(attn(norm1(x))); x += drop(mlp(norm2(x))), attention in windows; (B, H, W, C) -> (B, H, W, C).

    Version 2 adds a depth-wise 7x7 convolution on the merged windows, in the shifted frame. With ``ffn='attention'`` a second
    attention stands in place of the MLP.

    Args:
        embed_dims: C.
        drop_path: The block's stochastic depth rate. The attention branch takes it if it is < 0.25, else a third of it.
        mixer: Options of :func:`build_mixer`.
        version: 'v1' or 'v2'.
        ffn: 'mlp' or 'attention'.
        ffn_ratio: Width of the MLP, or within the second attention, over C.
    """

    def __init__(
        self, embed_dims: int, drop_path: float, mixer: dict[str, Any], version: str, ffn: str, ffn_ratio: float
    ) -> None:
        super().__init__()
        attention_drop = DropPath(drop_path if drop_path < 0.25 else drop_path / 3)
        self.norm1 = nn.LayerNorm(embed_dims, eps=NORM_EPS)
        self.attn = build_mixer(embed_dims=embed_dims, **mixer)
        self.posinfo = DepthwiseConv2d(embed_dims, 7) if version == "v2" else None
        self.drop_path1 = attention_drop
        self.norm2 = nn.LayerNorm(embed_dims, eps=NORM_EPS)
        self.attn2, self.posinfo2, self.mlp = None, None, None
        if ffn == "attention":
            self.attn2 = build_mixer(embed_dims=embed_dims, **widened(mixer, embed_dims, ffn_ratio))
            self.posinfo2 = DepthwiseConv2d(embed_dims, 7) if version == "v2" else None
        else:
            self.mlp = Mlp(embed_dims, hidden_width(embed_dims, ffn_ratio))
        self.drop_path2 = DropPath(drop_path) if ffn == "mlp" else attention_drop

    def forward(self, x: Tensor, grid: WindowGrid | None) -> Tensor:
        """Run the block on a map cut by ``grid``, or on the whole map."""
        x = x + self.drop_path1(attend(self.attn, self.posinfo, self.norm1(x), grid))
        if self.mlp is None:
            return x + self.drop_path2(attend(self.attn2, self.posinfo2, self.norm2(x), grid))
        return x + self.drop_path2(self.mlp(self.norm2(x)))


def attend(attn: nn.Module, posinfo: nn.Module | None, x: Tensor, grid: WindowGrid | None) -> Tensor:
    """Attention within the windows of a map, without windows over the whole map: (B, H, W, C) -> (B, H, W, C)."""
    if grid is None:
        size = (x.shape[1], x.shape[2])
        x = attn(x.flatten(1, 2), size).unflatten(1, size)
        return x if posinfo is None else posinfo(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
    side = (grid.window_size, grid.window_size)
    x = grid.merge(attn(grid.split(x), side, grid.mask(x)))  # (B, Hp, Wp, C), shifted frame
    if posinfo is not None:
        x = posinfo(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
    return grid.restore(x)


class SwinStage(nn.Module):
    """Optional down-sampling, then blocks whose windows are shifted in every second one.

    A mixer without scores has nothing to add a mask to: its windows are never shifted. Without a window size the blocks see the
    whole map.
    """

    def __init__(self, blocks: Sequence[SwinBlock], downsample: PatchMerging | None, window_size: int | None) -> None:
        super().__init__()
        self.window_size = window_size
        scores = all(block.attn.has_scores for block in blocks)
        self.shift = window_size // 2 if scores and window_size is not None else 0
        self.downsample = downsample or nn.Identity()
        self.blocks = nn.ModuleList(blocks)

    def grids(self, x: Tensor) -> tuple[WindowGrid | None, WindowGrid | None]:
        """The plain and the shifted windows of a map; ``None``: the whole map."""
        if self.window_size is None:
            return None, None
        _, H, W, _ = x.shape
        return WindowGrid(H, W, self.window_size), WindowGrid(H, W, self.window_size, self.shift)


@MODELS.register_module()
class SwinCSaN(DenseBackbone):
    """Swin with compensated attention: image (B, 3, H, W) -> maps at strides 4, 8, 16, 32, any H and W.

    ``mixer='softmax'`` is plain Swin. Sides that are not a multiple of patch or window are padded inside and cropped after; level
    i has exactly ceil(H / stride_i) x ceil(W / stride_i) cells.

    Args:
        arch: 'min', 'micro', 'tiny-slim', 'tiny', 'small', 'base', or a dict with ``embed_dims`` (width of stage 0, doubled by
            each further one), ``depths`` and ``num_heads``. Default: 'tiny'.
        mixer: A registered mixer or a dict with its name and options, see :func:`csan_mm.mixers.build_mixer`. Windows of one
            that forms no scores ('mala', 'linear', ...) have no position bias and are not shifted, so that nothing is exchanged
            between them within a stage: ``window_size=None`` suits these. Default: 'csan'.
        kappa: 'unbounded' or 'bounded', see :class:`csan_mm.mixers.CSaN`. Default: 'unbounded'.
        version: 'v1', or 'v2' with a depth-wise 7x7 convolution behind the attention. Default: 'v1'.
        granularity: 'unit' or 'head', see :class:`csan_mm.mixers.CSaN`. Default: 'unit'.
        ffn: 'mlp', or 'attention' for the attention-only stack. Default: 'mlp'.
        heads: Number of heads in the first stage, doubled by each further one, or one number per stage. Default: None, as
            ``arch`` has it.
        in_channels: Channels of the image. Default: 3.
        patch_size: Stride of the stem. Default: 4.
        window_size: Side of the windows; ``None``: attention over the whole map of a stage, of any size, without position bias,
            which is what global mixers of linear cost are for. Default: 7.
        mlp_ratio: Width of the MLP over that of its stage. Default: 4.
        attention_ratio: Under ``ffn='attention'``, width and heads of the second attention over the first's; the paper's widened
            stack has 2. Default: 1.
        qkv_bias: Whether q, k and v have a bias. Default: None, as the mixer has it by itself: True, but False where one
            projection stands for all three ('cbsa', 'mssa', 'tssa').
        drop_path_rate: Stochastic depth of the last block; it grows linearly from 0. Default: 0.1.
        norm_cfg: See :class:`DenseBackbone`. Default: ``dict(type='LN')``.
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
        version: str = "v1",
        granularity: str = "unit",
        ffn: str = "mlp",
        heads: int | Sequence[int] | None = None,
        in_channels: int = 3,
        patch_size: int = 4,
        window_size: int | None = 7,
        mlp_ratio: float = 4.0,
        attention_ratio: int = 1,
        qkv_bias: bool | None = None,
        drop_path_rate: float = 0.1,
        norm_cfg: dict[str, Any] | None = {"type": "LN"},  # noqa: B006 (plain data for configs, never changed)
        **shared: Any,
    ) -> None:
        check_arguments(locals())
        dims = with_heads(resolve_arch(arch, ARCHS), heads)
        width, depths, heads = dims["embed_dims"], dims["depths"], dims["num_heads"]
        if len(depths) != len(heads):
            raise ArgumentError(
                f"arch={arch!r}: depths and num_heads must have one entry per stage, got {len(depths)} and {len(heads)}"
            )
        if window_size is not None and (type(window_size) is not int or window_size < 1):
            raise ArgumentError(
                f"window_size={window_size!r} is out of range: take a whole number from 1 up, or None for the whole map"
            )
        check_choice("version", version, ("v1", "v2"))
        check_choice("ffn", ffn, ("mlp", "attention"))
        channels = [width * 2**i for i in range(len(depths))]
        strides = [patch_size * 2**i for i in range(len(depths))]
        super().__init__(channels, strides, depths, norm_cfg=norm_cfg, **shared)
        self.window_size = window_size
        self.patch_embed = PatchEmbed(in_channels, width, patch_size, norm_eps=NORM_EPS)
        rates = drop_path_rates(drop_path_rate, depths)
        ffn_ratio = mlp_ratio if ffn == "mlp" else attention_ratio
        shared = {
            "mixer": mixer,
            "kappa": kappa,
            "granularity": granularity,
            "window_size": window_size,
            "qkv_bias": qkv_bias,
        }
        self.layers = nn.ModuleList()
        for i in range(self.num_built):
            block_mixer = {**shared, "num_heads": heads[i]}
            blocks = [SwinBlock(channels[i], rate, block_mixer, version, ffn, ffn_ratio) for rate in rates[i]]
            downsample = PatchMerging(channels[i - 1], NORM_EPS) if i else None
            self.layers.append(SwinStage(blocks, downsample, window_size))

    def levels(self, image: Tensor, wanted: Sequence[int]) -> tuple[Tensor, ...]:
        """Image (B, in_channels, H, W) -> the maps of some levels."""
        x = self.patch_embed(check_image(image))  # (B, ceil(H/4), ceil(W/4), C)
        outputs = []
        for i, stage in enumerate(self.layers):
            x = stage.downsample(x)
            grids = stage.grids(x)
            for j, block in enumerate(stage.blocks):
                x = self.run_block(block, x, grids[j % 2])
            if i in wanted:
                outputs.append(self.output(x, i, image))
        return tuple(outputs)

    def stage_name(self, level: int) -> str:
        """The last block of a stage."""
        return f"layers.{level}.blocks.{self.depths[level] - 1}"

    def parts(self) -> list[list[nn.Module | nn.Parameter]]:
        """The patch embedding, then the stages."""
        return [[self.patch_embed], *[[stage] for stage in self.layers]]

    def block_of(self, param_name: str) -> int | None:
        """Down-sampling counts as part of the block it stands before."""
        if param_name.startswith("patch_embed."):
            return -1
        if not param_name.startswith("layers."):
            return None
        _, stage, kind, block, *_ = param_name.split(".")
        return sum(self.depths[: int(stage)]) + (int(block) if kind == "blocks" else 0)

    @property
    def unbuilt_prefixes(self) -> tuple[str, ...]:
        """The stages above the highest returned level."""
        return tuple(f"layers.{i}." for i in range(self.num_built, len(self.depths)))

    def adapt_state_dict(self, state: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
        """Resize relative position bias tables of another window size; whole maps have none, a file's are left out."""
        own = self.state_dict()
        if self.window_size is None:
            kept = {name: value for name, value in state.items() if not name.endswith("bias_table")}
            return kept, [f"left out {len(state) - len(kept)} position bias tables"] if len(kept) < len(state) else []
        tables = [name for name in state if name.endswith("bias_table") and name in own]
        other = [name for name in tables if state[name].shape[0] != own[name].shape[0]]
        window = (self.window_size, self.window_size)
        resized = {name: resize_rel_pos_bias_table(state[name], window, own[name].shape) for name in other}
        return {**state, **resized}, [f"resized {len(other)} position bias tables"] if other else []

    @classmethod
    def read_dims(cls, state: dict[str, Tensor]) -> dict[str, Any] | None:
        """Width and depths."""
        embed = state.get("patch_embed.proj.weight")
        blocks = {tuple(name.split(".")[1:4:2]) for name in state if re.match(r"layers\.\d+\.blocks\.\d+\.", name)}
        if embed is None or not blocks:
            return None
        counts = Counter(int(stage) for stage, _ in blocks)
        return {"embed_dims": embed.shape[0], "depths": tuple(counts[stage] for stage in sorted(counts))}

    def no_weight_decay(self) -> set[str]:
        """The relative position bias tables."""
        return {name for name, _ in self.named_parameters() if name.endswith("relative_position_bias_table")}
