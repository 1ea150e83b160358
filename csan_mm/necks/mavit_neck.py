"""What MAViT's classifier has between its last map and the classes (MALA, ICCV 2025, released code)."""

from collections.abc import Sequence
from typing import Any

from mmengine.model import BaseModule
from timm.layers import trunc_normal_
from torch import Tensor, nn

from csan_mm.common.arguments import check_arguments
from csan_mm.common.norms import build_norm
from csan_mm.registry import MODELS


@MODELS.register_module()
class MAViTNeck(BaseModule):
    """1x1 convolution to a wider space, batch norm, Swish, global average: the last of some maps (B, C, H, W) -> (B, C').

    A linear head behind it (mmpretrain's ``LinearClsHead``) is the 1x1 convolution the authors put there.

    Args:
        in_channels: C.
        out_channels: C', 2048 for MAViT-T/S/B and 2560 for L.
        norm_cfg: Default: ``dict(type='BN')``.
        init_cfg: Default: None.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        norm_cfg: dict[str, Any] = {"type": "BN"},  # noqa: B006 (plain data for configs, never changed)
        init_cfg: dict[str, Any] | list[dict[str, Any]] | None = None,
    ) -> None:
        check_arguments(locals())
        super().__init__(init_cfg=init_cfg)
        self.proj = nn.Conv2d(in_channels, out_channels, 1)
        self.norm = nn.Identity() if norm_cfg is None else build_norm("norm_cfg", norm_cfg, out_channels)
        self.act = nn.SiLU()
        trunc_normal_(self.proj.weight, std=0.02)
        nn.init.zeros_(self.proj.bias)

    def forward(self, maps: Sequence[Tensor]) -> tuple[Tensor]:
        """A backbone's maps -> one vector per image, in a tuple as mmpretrain's heads take it."""
        return (self.act(self.norm(self.proj(maps[-1]))).mean(dim=(2, 3)),)
