"""The CBT decoder for semantic segmentation (NeurIPS 2025, arXiv 2509.16875): class embeddings that attend with CBSA.

Shapes: (B, C, H, W) the encoder's map, n = H W patches, K classes; classes stand in front of the patches here, behind them in
the published code, which changes nothing: attention does not know an order.
"""

from collections.abc import Sequence
from typing import Any

import torch
from mmseg.models.decode_heads.decode_head import BaseDecodeHead
from timm.layers import trunc_normal_
from torch import Tensor, nn
from torch.nn.functional import normalize

from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_int
from csan_mm.mixers.build import build_mixer
from csan_mm.registry import MODELS


class CBTDecoderLayer(nn.Module):
    """x = x + CBSA(LN(x)), (B, K + n, C) -> (B, K + n, C); without a feed-forward network and without positions.

    Args:
        embed_dims: C.
        mixer: Options of :func:`build_mixer`.
    """

    def __init__(self, embed_dims: int, mixer: dict[str, Any]) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(embed_dims)
        self.attn = build_mixer(embed_dims=embed_dims, **mixer)

    def forward(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """Run the layer on classes and the patches of ``grid``."""
        return x + self.attn(self.norm(x), grid)


@MODELS.register_module()
class CBTHead(BaseDecodeHead):
    """Segmentation head of CBT: one map (B, C, H, W) -> masks of the classes (B, K, H, W), any H and W.

        x     = [classes (K, learned), patches (n)]
        x     = x + CBSA(LN(x))                        L times; representatives are pooled from the patches
        x     = LN(x), every token L2-normalised
        masks = LN over the K classes of (patches . classes^T)

    There is no linear map between the encoder and this: C is the encoder's width, the heads' width is free of it.

    Args:
        in_channels: C.
        num_classes: K.
        num_layers: L. Default: 3.
        num_heads: Default: 3.
        head_dims: Width of a head. Default: 100.
        rep_grid: Cells of the representatives' grid, or (rows, columns). Default: 10.
        contraction: See :class:`csan_mm.mixers.CBSA`. Default: True.
        cls_std: Standard deviation the classes' embeddings start from. With the paper's 0.02 the classes leave untrained layers
            with cosines of 0.9 and more to each other, since what attention adds to them is much the same for all. That suits a
            trained encoder; with one that starts from scratch training hardly begins, and 1 is better. Default: 0.02.
        in_index: Which of the backbone's maps. Default: -1.
        loss_decode: See mmseg's BaseDecodeHead, like all that follow. Default: cross entropy.
        ignore_index: Default: 255.
        sampler: Default: None.
        align_corners: Default: False.
        init_cfg: Default: None.

    Raises:
        ValueError: A number of layers below 1, ``cls_std`` not above 0, and what :class:`csan_mm.mixers.CBSA` refuses.
    """

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        num_layers: int = 3,
        num_heads: int = 3,
        head_dims: int = 100,
        rep_grid: int | tuple[int, int] = 10,
        contraction: bool = True,
        cls_std: float = 0.02,
        in_index: int = -1,
        loss_decode: dict[str, Any] | Sequence[dict[str, Any]] = {"type": "CrossEntropyLoss"},  # noqa: B006 (plain data)
        ignore_index: int | None = 255,
        sampler: dict[str, Any] | None = None,
        align_corners: bool = False,
        init_cfg: dict[str, Any] | list[dict[str, Any]] | None = None,
    ) -> None:
        check_arguments(locals())
        check_int("num_classes", num_classes, 2)
        super().__init__(
            in_channels,
            in_channels,
            num_classes=num_classes,
            dropout_ratio=0,
            in_index=in_index,
            loss_decode=loss_decode,
            ignore_index=ignore_index,
            sampler=sampler,
            align_corners=align_corners,
            init_cfg=init_cfg,
        )
        del self.conv_seg  # the classes' embeddings take its place
        mixer = {"type": "cbsa", "rep_grid": rep_grid, "contraction": contraction}
        options = {"mixer": mixer, "num_heads": num_heads, "inner_dims": num_heads * head_dims}
        self.cls_emb = nn.Parameter(trunc_normal_(torch.zeros(1, num_classes, in_channels), std=cls_std))
        self.layers = nn.ModuleList(CBTDecoderLayer(in_channels, options) for _ in range(num_layers))
        self.decoder_norm = nn.LayerNorm(in_channels)
        self.mask_norm = nn.LayerNorm(num_classes)

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        """Maps of the backbone -> masks (B, K, H, W)."""
        x, grid = self.tokens(inputs)
        for layer in self.layers:
            x = layer(x, grid)
        classes, patches = self.decoder_norm(x).split([self.num_classes, grid[0] * grid[1]], dim=1)
        masks = normalize(patches, dim=-1) @ normalize(classes, dim=-1).transpose(1, 2)  # (B, n, K)
        return self.mask_norm(masks).transpose(1, 2).unflatten(2, grid)

    def tokens(self, inputs: Sequence[Tensor]) -> tuple[Tensor, tuple[int, int]]:
        """Classes and patches (B, K + n, C) before the first layer, and the (H, W) of the patches."""
        x = self._transform_inputs(inputs)
        grid = (x.shape[2], x.shape[3])
        return torch.cat([self.cls_emb.expand(x.shape[0], -1, -1), x.flatten(2).transpose(1, 2)], dim=1), grid

    @torch.no_grad()
    def class_attention(self, inputs: Sequence[Tensor], layer: int = -1) -> Tensor:
        """How strongly each place of the masks attends to each class in a layer, for pictures.

        CBSA is out = step_x A^T S (rep + step_rep A w), S the softmax of the contraction: token i takes from token j the share
        (A^T S A)_ij, through the representatives. These are those shares with i a patch and j a class.

        Args:
            inputs: Maps of the backbone.
            layer: Default: -1, the last.

        Returns:
            (B, heads, K, H, W), not negative.
        """
        x, grid = self.tokens(inputs)
        last = range(len(self.layers))[layer]
        for before in self.layers[:last]:
            x = before(x, grid)
        A, S = self.layers[last].attn.shares(self.layers[last].norm(x), grid)
        classes, patches = A.split([self.num_classes, grid[0] * grid[1]], dim=-1)  # (B, heads, m, K), (B, heads, m, n)
        return ((S @ classes).transpose(-2, -1) @ patches).unflatten(-1, grid)
