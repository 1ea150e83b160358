"""Vision Transformer whose attention is any of the papers' mixers (ViT: Dosovitskiy et al., ICLR 2021; CSaN: CVPR 2026).

For dense prediction it has ViTDet's mode (Li et al., ECCV 2022): attention within windows in all but a few blocks. Tokens are
(B, N, C), prefix tokens first; parameter names are timm's.
"""

from collections.abc import Sequence
from typing import Any

import torch
from timm.layers import DropPath, LayerScale, trunc_normal_
from torch import Tensor, nn

from csan_mm.backbones.archs import resolve_arch, with_heads
from csan_mm.backbones.base import drop_path_rates
from csan_mm.backbones.isotropic import IsotropicBackbone
from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_choice, check_int, check_size
from csan_mm.common.errors import ArgumentError, CheckpointError
from csan_mm.layers.mlp import ConvMlp, Mlp, hidden_width
from csan_mm.layers.padding import cells
from csan_mm.layers.patches import PatchEmbed
from csan_mm.layers.positions import refit_positions, resized_positions
from csan_mm.layers.windows import WindowGrid
from csan_mm.mixers.build import build_mixer, widened
from csan_mm.mixers.subspace import SubspaceMixer
from csan_mm.registry import MODELS

NORM_EPS = 1e-6

ARCHS = {
    "tiny": {"embed_dims": 192, "depth": 12, "num_heads": 3},
    "small": {"embed_dims": 384, "depth": 12, "num_heads": 6},
    "base-slim": {"embed_dims": 512, "depth": 12, "num_heads": 8},
    "base": {"embed_dims": 768, "depth": 12, "num_heads": 12},
    "large": {"embed_dims": 1024, "depth": 24, "num_heads": 16},
}

#: Feed-forward networks by their names.
MLPS = {"mlp": Mlp, "conv-mlp": ConvMlp}


class ViTBlock(nn.Module):
    """x += drop(ls(attn(norm1(x)))); x += drop(ls(mlp(norm2(x)))); (B, N, C) -> (B, N, C).

    Args:
        embed_dims: C.
        drop_path: Stochastic depth rate of both branches.
        mixer: Options of :func:`build_mixer`.
        ffn: See :class:`ViTCSaN`.
        ffn_ratio: Width of the MLP, or within the second attention, over C.
        window_size: Side of the windows the attention stays in; 0: it is global.
        layer_scale: Start of LayerScale's gains; ``None``: no LayerScale.
    """

    def __init__(
        self,
        embed_dims: int,
        drop_path: float,
        mixer: dict[str, Any],
        ffn: str,
        ffn_ratio: float,
        window_size: int,
        layer_scale: float | None,
    ) -> None:
        super().__init__()
        self.window_size = window_size
        self.norm1 = nn.LayerNorm(embed_dims, eps=NORM_EPS)
        self.attn = build_mixer(embed_dims=embed_dims, **mixer)
        self.norm2 = nn.LayerNorm(embed_dims, eps=NORM_EPS)
        wide = widened(mixer, embed_dims, ffn_ratio)
        self.attn2 = build_mixer(embed_dims=embed_dims, **wide) if ffn == "attention" else None
        self.mlp = MLPS[ffn](embed_dims, hidden_width(embed_dims, ffn_ratio)) if ffn in MLPS else None
        self.ls1 = LayerScale(embed_dims, layer_scale) if layer_scale is not None else nn.Identity()
        self.ls2 = LayerScale(embed_dims, layer_scale) if layer_scale is not None else nn.Identity()
        self.drop_path1, self.drop_path2 = DropPath(drop_path), DropPath(drop_path)

    def forward(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """Run the block on tokens whose patches form ``grid``."""
        x = x + self.drop_path1(self.ls1(self.attend(self.attn, self.norm1(x), grid)))
        return x + self.drop_path2(self.ls2(self.feed_forward(self.norm2(x), grid)))

    def feed_forward(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """The MLP, with or without its convolution, or the second attention."""
        if self.mlp is None:
            return self.attend(self.attn2, x, grid)
        return self.mlp(x, grid) if isinstance(self.mlp, ConvMlp) else self.mlp(x)

    def attend(self, attn: nn.Module, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """Attention over all tokens, or within windows of the patches; incomplete windows are filled with zeros."""
        if not self.window_size:
            return attn(x, grid)
        windows = WindowGrid(*grid, self.window_size)
        side = (self.window_size, self.window_size)
        y = attn(windows.split(x.unflatten(1, grid)), side)
        return windows.restore(windows.merge(y)).flatten(1, 2)


@MODELS.register_module()
class ViTCSaN(IsotropicBackbone):
    """ViT with compensated attention: image (B, 3, H, W) -> maps at stride ``patch_size``, any H and W.

    The learned absolute position embedding belongs to ``img_size`` and is resized from that grid to the image's.
    ViTDet's mode for large images is ``window_size=14, global_indices=(2, 5, 8, 11), with_cls_token=False``.

    Args:
        arch: 'tiny', 'small', 'base-slim', 'base', 'large', or a dict with ``embed_dims``, ``depth``, ``num_heads``.
            Default: 'base'.
        mixer: See :class:`SwinCSaN`, like ``kappa`` and ``granularity``. Default: 'csan'.
        kappa: Default: 'unbounded'.
        granularity: Default: 'unit'.
        ffn: 'mlp', 'attention' (a second attention in its place) or 'conv-mlp', MAViT's with a depth-wise 3x3 convolution
            between the layers (:class:`ConvMlp`). Default: 'mlp'.
        heads: Number of heads. Default: None, as ``arch`` has it.
        img_size: Side, or (H, W), of the images the position embedding is learned at. Default: 224.
        patch_size: Default: 16.
        in_channels: Default: 3.
        mlp_ratio: Width of the MLP over C. Default: 4.
        attention_ratio: See :class:`SwinCSaN`. Default: 1.
        qkv_bias: See :class:`SwinCSaN`. Default: None.
        qk_norm: LayerNorm on each head's q and k. Default: False.
        with_cls_token: Whether a class token takes part. Default: True.
        num_registers: Number of register tokens behind the class token. Default: 0.
        no_embed_class: As in timm: the position embedding has no rows for prefix tokens. Default: False.
        layer_scale: Start of LayerScale's gains; ``None`` (default): no LayerScale.
        window_size: Side of the attention windows; 0 (default): attention is global everywhere.
        global_indices: Blocks whose attention is global all the same. Default: none.
        drop_path_rate: Stochastic depth of the last block; it grows linearly from 0. Default: 0.
        **shared: See :class:`IsotropicBackbone` (``out_type``, ``final_norm``, ``out_indices``) and :class:`DenseBackbone`
            (``frozen_stages``, ``norm_eval``, ``with_cp``, ``norm_cfg``, ``init_cfg``).

    Raises:
        ValueError: An argument no network can be built from; the message says what would do.
    """

    archs = ARCHS

    def __init__(
        self,
        arch: str | dict[str, Any] = "base",
        mixer: str | dict[str, Any] = "csan",
        kappa: str = "unbounded",
        granularity: str = "unit",
        ffn: str = "mlp",
        heads: int | None = None,
        img_size: int | Sequence[int] = 224,
        patch_size: int = 16,
        in_channels: int = 3,
        mlp_ratio: float = 4.0,
        attention_ratio: int = 1,
        qkv_bias: bool | None = None,
        qk_norm: bool = False,
        with_cls_token: bool = True,
        num_registers: int = 0,
        no_embed_class: bool = False,
        layer_scale: float | None = None,
        window_size: int = 0,
        global_indices: Sequence[int] = (),
        drop_path_rate: float = 0.0,
        **shared: Any,
    ) -> None:
        check_arguments(locals())
        dims = with_heads(resolve_arch(arch, ARCHS), heads)
        width, depth = dims["embed_dims"], dims["depth"]
        check_choice("ffn", ffn, ("attention", *MLPS))
        if shared.get("out_type") == "cls_token" and not with_cls_token:  # there may be registers
            raise ArgumentError("out_type='cls_token' needs with_cls_token=True: or take 'avg_featmap'")
        num_prefix = int(with_cls_token) + num_registers
        check_int("window_size", window_size, 0)
        global_indices = (global_indices,) if isinstance(global_indices, int) else tuple(global_indices)
        self._check_windows(window_size, global_indices, depth, num_prefix)
        super().__init__(width, depth, patch_size, num_prefix, **shared)
        height, across = check_size("img_size", img_size)
        self.source_grid = (cells(height, patch_size), cells(across, patch_size))
        self.embedded_prefix = 0 if no_embed_class else num_prefix
        self.patch_embed = PatchEmbed(in_channels, width, patch_size)
        self.cls_token = nn.Parameter(torch.randn(1, 1, width) * 1e-6) if with_cls_token else None
        self.reg_token = nn.Parameter(torch.randn(1, num_registers, width) * 1e-6) if num_registers else None
        rows = self.embedded_prefix + self.source_grid[0] * self.source_grid[1]
        self.pos_embed = nn.Parameter(trunc_normal_(torch.zeros(1, rows, width), std=0.02))
        options = {"mixer": mixer, "kappa": kappa, "granularity": granularity, "num_heads": dims["num_heads"]}
        options |= {"qkv_bias": qkv_bias, **({"qk_norm": True} if qk_norm else {})}
        ffn_ratio = mlp_ratio if ffn in MLPS else attention_ratio
        rates = drop_path_rates(drop_path_rate, self.depths)
        windows = [0 if i in global_indices else window_size for i in range(self.num_built)]
        self.blocks = nn.ModuleList(
            ViTBlock(width, rates[i][0], options, ffn, ffn_ratio, window, layer_scale)
            for i, window in enumerate(windows)
        )
        self.norm = nn.LayerNorm(width, eps=NORM_EPS) if self.final_norm else None

    @staticmethod
    def _check_windows(window_size: int, global_indices: Sequence[int], depth: int, num_prefix: int) -> None:
        if window_size and num_prefix:
            raise ArgumentError(
                f"window_size={window_size} has no place for class and register tokens: set with_cls_token=False, num_registers=0"
            )
        if global_indices and not window_size:
            raise ArgumentError(
                f"global_indices={global_indices!r} has no effect without window_size: set it, for instance to 14"
            )
        if not all(0 <= index < depth for index in global_indices):
            raise ArgumentError(f"global_indices={global_indices!r} is out of range: take blocks from 0 to {depth - 1}")

    def embed(self, image: Tensor) -> tuple[Tensor, tuple[int, int]]:
        """Patches, prefix tokens and positions: (B, 3, H, W) -> (B, N, C) and the grid."""
        x = self.patch_embed(image)  # (B, H, W, C)
        grid = (x.shape[1], x.shape[2])
        prefix = [token.expand(x.shape[0], -1, -1) for token in (self.cls_token, self.reg_token) if token is not None]
        positions = resized_positions(self.pos_embed, self.source_grid, grid, self.embedded_prefix)
        x = x.flatten(1, 2)
        if self.embedded_prefix:
            return torch.cat([*prefix, x], dim=1) + positions, grid
        return torch.cat([*prefix, x + positions], dim=1), grid

    def stem(self) -> list[nn.Module | nn.Parameter]:
        """Patch embedding, prefix tokens, positions."""
        parameters = (self.cls_token, self.reg_token, self.pos_embed)
        return [self.patch_embed, *[parameter for parameter in parameters if parameter is not None]]

    def no_weight_decay(self) -> set[str]:
        """Positions and prefix tokens."""
        return {name for name in ("pos_embed", "cls_token", "reg_token") if getattr(self, name) is not None}

    def adapt_state_dict(self, state: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
        """Resize positions and leave out prefix tokens this backbone does not have.

        Raises:
            CheckpointError: Weights of query, key and value for a mixer that has one projection in their place.
        """
        for name, module in self.named_modules():
            if isinstance(module, SubspaceMixer) and f"{name}.qkv.weight" in state:
                raise CheckpointError(
                    f"the weights have q, k and v and {type(module).__name__} has one projection in their place: take "
                    f"mixer='cbsa-adapted', which keeps all weights of a softmax attention"
                )
        own = self.state_dict()
        state = {name: value for name, value in state.items() if name in own or name not in ("cls_token", "reg_token")}
        return self._adapt_positions(state)

    def _adapt_positions(self, state: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
        table = state.get("pos_embed")
        if table is None or table.shape == self.pos_embed.shape or table.shape[-1] != self.embed_dims:
            return state, []
        prefixes = sorted({self.embedded_prefix, 0, 1, 1 + self.num_prefix})
        table = refit_positions(table, self.pos_embed.detach(), self.source_grid, prefixes, self.embedded_prefix)
        return {**state, "pos_embed": table}, [f"resized pos_embed to {self.source_grid[0]}x{self.source_grid[1]}"]
