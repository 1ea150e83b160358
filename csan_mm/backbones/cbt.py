"""CBT: the contract-and-broadcast transformer (NeurIPS 2025, arXiv 2509.16875), and with other mixers CRATE and ToST.

Tokens are (B, N, C), the class token first; B images, C channels.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from timm.layers import DropPath
from torch import Tensor, nn

from csan_mm.backbones.archs import resolve_arch
from csan_mm.backbones.base import drop_path_rates
from csan_mm.backbones.isotropic import IsotropicBackbone
from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_size
from csan_mm.common.errors import ArgumentError
from csan_mm.common.norms import build_norm
from csan_mm.layers.conv import Conv2d
from csan_mm.layers.ista import ISTA
from csan_mm.layers.padding import cells
from csan_mm.layers.positions import refit_positions, resized_positions
from csan_mm.mixers.build import build_mixer, mixer_options
from csan_mm.registry import MODELS

NORM_EPS = 1e-5
STRIDE = 16

ARCHS = {
    "tiny": {"embed_dims": 192, "depth": 12, "num_heads": 3},
    "small": {"embed_dims": 384, "depth": 12, "num_heads": 6},
    "base": {"embed_dims": 768, "depth": 12, "num_heads": 12},
    "large": {"embed_dims": 1024, "depth": 24, "num_heads": 16},
}


#: Mixers that pool tokens, and know how the published classifiers do.
POOLING = ("cbsa", "cbsa-adapted")


def per_block(mixer: str | dict[str, Any] | Sequence[str | dict[str, Any]], depth: int) -> list[dict[str, Any]]:
    """A mixer for each block, from one for all or from a list.

    Raises:
        ValueError: A list of another length, or an entry without a name.
    """
    if isinstance(mixer, (str, Mapping)) or not isinstance(mixer, Sequence):
        return [mixer_options(mixer)] * depth
    if len(mixer) != depth:
        raise ArgumentError(
            f"mixer={mixer!r} has {len(mixer)} entries for {depth} blocks: give one for each, or one for all"
        )
    return [mixer_options(entry) for entry in mixer]


class ConvStem(nn.Module):
    """Four 3x3 convolutions of stride 2 and width C/8, C/4, C/2, C, each with a norm, GELU between them.

    (B, 3, H, W) -> (B, ceil(H/16), ceil(W/16), C).

    Args:
        in_channels: Channels of the image.
        embed_dims: C, a multiple of 8.
        norm_cfg: The norm behind each convolution.
    """

    def __init__(self, in_channels: int, embed_dims: int, norm_cfg: dict[str, Any]) -> None:
        super().__init__()
        widths = [in_channels, *[embed_dims // divisor for divisor in (8, 4, 2, 1)]]
        layers: list[nn.Module] = []
        for before, width in pairwise(widths):
            conv = Conv2d(before, width, 3, stride=2, padding=1, bias=False)
            layers += [nn.Sequential(conv, build_norm("stem_norm_cfg", norm_cfg, width)), nn.GELU()]
        self.proj = nn.Sequential(*layers[:-1])

    def forward(self, image: Tensor) -> Tensor:
        """Embed an image."""
        return self.proj(image).permute(0, 2, 3, 1)


class CBTBlock(nn.Module):
    """g = x + drop(attn(norm1(x))); x = ista(norm2(g)), which has no residual; (B, N, C) -> (B, N, C).

    Args:
        embed_dims: C.
        drop_path: Stochastic depth rate of the attention.
        mixer: Options of :func:`build_mixer`.
    """

    def __init__(self, embed_dims: int, drop_path: float, mixer: dict[str, Any]) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dims, eps=NORM_EPS)
        self.attn = build_mixer(embed_dims=embed_dims, **mixer)
        self.drop_path = DropPath(drop_path)
        self.norm2 = nn.LayerNorm(embed_dims, eps=NORM_EPS)
        self.ista = ISTA(embed_dims)

    def forward(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """Run the block on tokens whose patches form ``grid``."""
        x = x + self.drop_path(self.attn(self.norm1(x), grid))
        return self.ista(self.norm2(x))


@MODELS.register_module()
class CBT(IsotropicBackbone):
    """Contract-and-broadcast transformer: image (B, 3, H, W) -> maps at stride 16, any H and W.

    The learned position embedding belongs to ``img_size`` and is resized from that grid to the image's. The final norm is
    that of the published classification head, behind which only a linear layer follows (``out_type='cls_token'``).

    Args:
        arch: 'tiny', 'small', 'base', 'large', or a dict with ``embed_dims`` (a multiple of 8), ``depth``, ``num_heads``.
            Default: 'tiny'.
        mixer: 'cbsa', 'mssa' (CRATE) or 'tssa' (ToST), any other registered mixer, or a dict with its name and options, see
            :func:`csan_mm.mixers.build_mixer`; a list has one for each block, such as MSSA below and CBSA above.
            Default: 'cbsa'.
        legacy_pooling: See :class:`csan_mm.mixers.CBSA`, for all blocks that have it; the published weights need it.
            Default: False.
        img_size: Side, or (H, W), of the images the position embedding is learned at. Default: 224.
        in_channels: Default: 3.
        stem_norm_cfg: Norm of the stem's convolutions. Default: ``dict(type='BN')``; several processes with few images each
            want ``sync_bn='torch'`` in the config.
        with_cls_token: Whether a class token takes part. Default: True.
        drop_path_rate: Stochastic depth of the last block; it grows linearly from 0. Default: 0.
        **shared: See :class:`IsotropicBackbone` (``out_type``, ``final_norm``, ``out_indices``) and :class:`DenseBackbone`
            (``frozen_stages``, ``norm_eval``, ``with_cp``, ``norm_cfg``, ``init_cfg``).

    Raises:
        ValueError: An argument no network can be built from; the message says what would do.
    """

    archs = ARCHS
    width_weight = "blocks.0.ista.weight"

    def __init__(
        self,
        arch: str | dict[str, Any] = "tiny",
        mixer: str | dict[str, Any] | Sequence[str | dict[str, Any]] = "cbsa",
        legacy_pooling: bool = False,
        img_size: int | Sequence[int] = 224,
        in_channels: int = 3,
        stem_norm_cfg: dict[str, Any] = {"type": "BN"},  # noqa: B006 (plain data for configs, never changed)
        with_cls_token: bool = True,
        drop_path_rate: float = 0.0,
        **shared: Any,
    ) -> None:
        check_arguments(locals())
        dims = resolve_arch(arch, ARCHS)
        width, depth = dims["embed_dims"], dims["depth"]
        if width % 8:
            raise ArgumentError(f"arch={arch!r}: the stem starts at an eighth of embed_dims, take a multiple of 8")
        super().__init__(width, depth, STRIDE, int(with_cls_token), **shared)
        height, across = check_size("img_size", img_size)
        self.source_grid = (cells(height, STRIDE), cells(across, STRIDE))
        self.patch_embed = ConvStem(in_channels, width, stem_norm_cfg)
        self.cls_token = nn.Parameter(torch.randn(1, 1, width)) if with_cls_token else None
        rows = self.num_prefix + self.source_grid[0] * self.source_grid[1]
        self.pos_embed = nn.Parameter(torch.randn(1, rows, width))
        mixers = self._with_pooling(per_block(mixer, depth), legacy_pooling)
        rates = drop_path_rates(drop_path_rate, self.depths)
        self.blocks = nn.ModuleList(
            CBTBlock(width, rates[i][0], {"mixer": mixers[i], "num_heads": dims["num_heads"]})
            for i in range(self.num_built)
        )
        self.norm = nn.LayerNorm(width, eps=NORM_EPS) if self.final_norm else None

    @staticmethod
    def init_module_(module: nn.Module) -> None:
        """Nothing: as in the authors' code, linear layers keep torch's own start and the rest the one it was built with."""

    def _with_pooling(self, mixers: list[dict[str, Any]], legacy_pooling: bool) -> list[dict[str, Any]]:
        if not legacy_pooling:
            return mixers
        if not self.num_prefix:
            raise ArgumentError(
                "legacy_pooling=True pools the class token too and there is none: set with_cls_token=True"
            )
        if not any(mixer["type"] in POOLING for mixer in mixers):
            raise ArgumentError(
                f"legacy_pooling=True changes nothing: none of the blocks pools, give one a mixer of {', '.join(POOLING)}"
            )
        return [{**mixer, "legacy_pooling": True} if mixer["type"] in POOLING else mixer for mixer in mixers]

    def embed(self, image: Tensor) -> tuple[Tensor, tuple[int, int]]:
        """Patches, class token and positions: (B, 3, H, W) -> (B, N, C) and the grid."""
        x = self.patch_embed(image)  # (B, H, W, C)
        grid = (x.shape[1], x.shape[2])
        positions = resized_positions(self.pos_embed, self.source_grid, grid, self.num_prefix)
        x = x.flatten(1, 2)
        if self.cls_token is not None:
            x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1)
        return x + positions, grid

    def stem(self) -> list[nn.Module | nn.Parameter]:
        """Convolutions, class token, positions."""
        parameters = (self.cls_token, self.pos_embed)
        return [self.patch_embed, *[parameter for parameter in parameters if parameter is not None]]

    def no_weight_decay(self) -> set[str]:
        """Positions and class token."""
        return {name for name in ("pos_embed", "cls_token") if getattr(self, name) is not None}

    def adapt_state_dict(self, state: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
        """Resize positions learned on another grid, and leave out the class token where there is none."""
        state = {name: value for name, value in state.items() if name != "cls_token" or self.cls_token is not None}
        table = state.get("pos_embed")
        if table is None or table.shape == self.pos_embed.shape or table.shape[-1] != self.embed_dims:
            return state, []
        prefixes = sorted({self.num_prefix, 0, 1})
        table = refit_positions(table, self.pos_embed.detach(), self.source_grid, prefixes, self.num_prefix)
        return {**state, "pos_embed": table}, [f"resized pos_embed to {self.source_grid[0]}x{self.source_grid[1]}"]
