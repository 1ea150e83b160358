"""A backbone of csan_mm with a classifier, as timm's models behave (timm 1.0)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from timm.models._features import feature_take_indices
from torch import Tensor, nn

from csan_mm.backbones.isotropic import IsotropicBackbone
from csan_mm.common.checks import check_choice
from csan_mm.common.errors import ArgumentError
from csan_mm.common.unknown_arguments import arguments_of
from csan_mm.necks.mavit_neck import MAViTNeck
from csan_mm.timm.weights import load_into
from csan_mm.zoo import FAMILIES, get_backbone

#: Family -> its first convolution.
STEM_CONV = {
    "swin-csan": "backbone.patch_embed.proj",
    "vit-csan": "backbone.patch_embed.proj",
    "hiera-csan": "backbone.patch_embed.proj",
    "mavit": "backbone.patch_embed.proj.0",
    "weightformer": "backbone.patch_embed.proj",
    "cbt": "backbone.patch_embed.proj.0.0",
}
#: Families whose classifier reads the class token; the others average.
WITH_CLASS_TOKEN = ("vit-csan", "cbt")
#: Width of what MAViT's classifier reads.
PROJECTIONS = {"mavit-large": 2560}


class Classifier(nn.Module):
    """Pooling, dropout and a linear layer, under timm's names.

    Args:
        num_features: C of what it reads.
        num_classes: 0: no linear layer.
        global_pool: 'avg', 'token', or '' for none.
        num_prefix: Tokens in front of the patches; ``None``: it reads maps (B, C, H, W).
        drop_rate: Dropout in front of the linear layer.
    """

    def __init__(
        self, num_features: int, num_classes: int, global_pool: str, num_prefix: int | None, drop_rate: float
    ) -> None:
        super().__init__()
        self.num_features, self.num_prefix = num_features, num_prefix
        self.drop = nn.Dropout(drop_rate)
        self.reset(num_classes, global_pool)

    def reset(self, num_classes: int, global_pool: str) -> None:
        """Another number of classes, or another pooling."""
        kinds = ("", "avg") if self.num_prefix is None else ("", "avg", "token") if self.num_prefix else ("", "avg")
        check_choice("global_pool", global_pool, kinds)
        if not global_pool and num_classes:
            raise ArgumentError(
                f"global_pool='' with num_classes={num_classes}: a classifier needs one vector per image, take num_classes=0"
            )
        self.global_pool = global_pool
        self.fc = nn.Linear(self.num_features, num_classes) if num_classes else nn.Identity()

    def forward(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Maps (B, C, H, W) or tokens (B, N, C) -> (B, classes)."""
        if self.global_pool == "token":
            x = x[:, 0]
        elif self.global_pool == "avg":
            x = x.mean(dim=(2, 3)) if self.num_prefix is None else x[:, self.num_prefix :].mean(dim=1)
        x = self.drop(x)
        return x if pre_logits else self.fc(x)


class TimmModel(nn.Module):
    """One of csan_mm's backbones as timm has its models: features, head, intermediates, groups.

    ``forward_features`` gives what stands before the pooling: a map (B, C, H, W) of Swin, Hiera and MAViT, whose projection to
    2048 channels is part of it, and tokens (B, N, C), class token first, of the others.

    Args:
        name: One of :func:`csan_mm.list_models`.
        num_classes: 0: pooled features. Default: 1000.
        in_chans: Channels of the image. Default: 3.
        img_size: Size the position embedding is made for; networks without one take any size and ignore it. Default: 224.
        global_pool: 'avg', 'token' where there is a class token, '' for features as they are. Default: the paper's.
        drop_rate: Dropout in front of the classifier. Default: 0.
        drop_path_rate: Stochastic depth. Default: the backbone's own.
        **options: Further arguments of the backbone's class, such as ``mixer='softmax'``.

    Raises:
        ValueError: An argument no network can be built from.
    """

    def __init__(
        self,
        name: str,
        num_classes: int = 1000,
        in_chans: int = 3,
        img_size: int | Sequence[int] = 224,
        global_pool: str | None = None,
        drop_rate: float = 0.0,
        drop_path_rate: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        family = max((family for family in FAMILIES if name.startswith(f"{family}-")), key=len)
        kind = FAMILIES[family][0]
        if issubclass(kind, IsotropicBackbone):
            options = {"out_type": "raw", **options}
        if family == "mavit":
            options = {"norm_cfg": None, **options}
        if "img_size" in arguments_of(kind):
            options["img_size"] = img_size
        if drop_path_rate is not None:
            options["drop_path_rate"] = drop_path_rate
        self.backbone = get_backbone(name, out_indices=-1, in_channels=in_chans, **options)
        self.num_classes, self.drop_rate = num_classes, drop_rate
        self.num_levels = len(self.backbone.depths)
        width = self.backbone.channels[-1]
        self.neck = MAViTNeck(width, PROJECTIONS.get(name, 2048)) if family == "mavit" else None
        self.num_features = self.head_hidden_size = width if self.neck is None else self.neck.proj.out_channels
        self.embed_dim = width
        prefix = self.backbone.num_prefix if self.on_tokens else None
        self.num_prefix_tokens = prefix or 0
        if global_pool is None:
            global_pool = "token" if family in WITH_CLASS_TOKEN and prefix else "avg"
        self.head = Classifier(self.num_features, num_classes, global_pool, prefix, drop_rate)
        if num_classes:
            nn.init.trunc_normal_(self.head.fc.weight, std=0.02)
            nn.init.zeros_(self.head.fc.bias)
        self.feature_info = self._describe_levels(kind, name, options)

    @property
    def on_tokens(self) -> bool:
        """Whether features are tokens (B, N, C)."""
        return isinstance(self.backbone, IsotropicBackbone)

    @property
    def global_pool(self) -> str:
        """How the head pools."""
        return self.head.global_pool

    def _describe_levels(self, kind: type, name: str, options: dict[str, Any]) -> list[dict[str, Any]]:
        """Width, stride and module of every level, from the same backbone with all of them, built without memory."""
        shapes = {key: value for key, value in options.items() if key != "out_type"}
        with torch.device("meta"):
            whole = get_backbone(name, out_indices=tuple(range(self.num_levels)), **shapes)
        rows = zip(whole.channels, whole.strides)
        return [
            {"num_chs": width, "reduction": stride, "module": f"backbone.{whole.stage_name(level)}"}
            for level, (width, stride) in enumerate(rows)
        ]

    def forward_features(self, x: Tensor) -> Tensor:
        """Image -> what the head pools."""
        (x,) = self.backbone(x)
        return x if self.neck is None else self.neck.act(self.neck.norm(self.neck.proj(x)))

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Features -> logits, or with ``pre_logits`` the vector they are made from."""
        return self.head(x, pre_logits)

    def forward(self, x: Tensor) -> Tensor:
        """Image (B, C, H, W) -> logits (B, classes)."""
        return self.forward_head(self.forward_features(x))

    def forward_intermediates(
        self,
        x: Tensor,
        indices: int | Sequence[int] | None = None,
        norm: bool = False,
        stop_early: bool = False,
        output_fmt: str = "NCHW",
        intermediates_only: bool = False,
        return_prefix_tokens: bool = False,
    ) -> Any:
        """Outputs of some levels.

        Args:
            x: Image.
            indices: Levels, or how many of the last ones. Default: all.
            norm: Apply the final norm to every level that has its width; the last level has it in any case.
            stop_early: Accepted for timm's sake: levels above the highest are left out of the network by
                :meth:`prune_intermediate_layers`, which ``features_only`` does.
            output_fmt: 'NCHW', or 'NLC' for tokens.
            intermediates_only: Return the list alone.
            return_prefix_tokens: Return (patches, prefix tokens) for each level of a network on tokens.

        Returns:
            The list, or what :meth:`forward_features` gives and the list.
        """
        check_choice("output_fmt", output_fmt, ("NCHW", "NLC"))
        if output_fmt == "NLC" and not self.on_tokens:
            raise ArgumentError("output_fmt='NLC' is for networks on tokens: take 'NCHW'")
        taken, highest = feature_take_indices(self.num_levels, indices)
        last = self.backbone.num_built - 1
        if highest > last:
            raise ArgumentError(f"indices={indices!r}: this network was pruned behind level {last}")
        outputs = self.backbone.levels(x, sorted({*taken, last}))
        by_level = dict(zip(sorted({*taken, last}), outputs))
        maps = [self._as_wanted(by_level[level], level, x, norm, output_fmt, return_prefix_tokens) for level in taken]
        if intermediates_only:
            return maps
        final = by_level[last]
        return (final if self.neck is None else self.neck.act(self.neck.norm(self.neck.proj(final)))), maps

    def _as_wanted(self, y: Tensor, level: int, image: Tensor, norm: bool, output_fmt: str, prefix: bool) -> Any:
        if not self.on_tokens:
            return y
        if norm and level < self.num_levels - 1 and self.backbone.norm is not None:
            y = self.backbone.norm(y)
        front, y = y.split([self.num_prefix_tokens, y.shape[1] - self.num_prefix_tokens], dim=1)
        if output_fmt == "NCHW":
            stride = self.backbone.patch_size
            grid = tuple(-(-side // stride) for side in image.shape[-2:])
            y = y.transpose(1, 2).unflatten(2, grid).contiguous()
        return (y, front) if prefix else y

    def prune_intermediate_layers(
        self, indices: int | Sequence[int] = 1, prune_norm: bool = False, prune_head: bool = True
    ) -> list[int]:
        """Drop what stands behind the highest of some levels, for good.

        Returns:
            The levels, as numbers from 0.
        """
        taken, highest = feature_take_indices(self.num_levels, indices)
        if highest < self.backbone.num_built - 1:
            _cut(self.backbone, highest)
        if prune_norm and self.on_tokens:
            self.backbone.final_norm, self.backbone.norm = False, None
        if prune_head:
            self.neck = None
            self.reset_classifier(0)
        return taken

    def get_classifier(self) -> nn.Module:
        """The linear layer."""
        return self.head.fc

    def reset_classifier(self, num_classes: int, global_pool: str | None = None) -> None:
        """Another number of classes (0: none), and another pooling if one is given."""
        self.num_classes = num_classes
        self.head.reset(num_classes, self.global_pool if global_pool is None else global_pool)

    def no_weight_decay(self) -> set[str]:
        """Parameters that do not decay besides norms and biases."""
        return {f"backbone.{name}" for name in self.backbone.no_weight_decay()}

    def group_matcher(self, coarse: bool = False) -> Callable[[str], int]:
        """Number of the group of a parameter, for layer-wise decay: stem, blocks (or with ``coarse`` their stages), the rest."""
        ends = [sum(self.backbone.depths[: i + 1]) for i in range(self.num_levels)]

        def group(name: str) -> int:
            depth, count = self.backbone.get_layer_depth(name, "backbone.")
            if not coarse or depth in (0, count - 1):
                return depth
            return 1 + next(stage for stage, end in enumerate(ends) if depth <= end)

        return group

    def set_grad_checkpointing(self, enable: bool = True) -> None:
        """Recompute blocks in the backward pass."""
        self.backbone.with_cp = enable

    def load_pretrained(self, path: str | Path) -> None:
        """Read a file of ours, of timm's layout or of the authors', as csan_mm does; timm calls it for ``pretrained=True``."""
        load_into(self, path)


def _cut(backbone: nn.Module, highest: int) -> None:
    """Leave out the stages above a level; the last one that stays has no way on."""
    if hasattr(backbone, "blocks"):
        ends = getattr(backbone, "stage_ends", None)
        backbone.blocks = backbone.blocks[: highest + 1 if ends is None else ends[highest]]
        if ends is not None:
            backbone.stage_ends = ends[: highest + 1]
    else:
        backbone.layers = backbone.layers[: highest + 1]
        if hasattr(backbone.layers[-1], "RoPE"):
            backbone.layers[-1].downsample = None
    if isinstance(backbone, IsotropicBackbone):
        backbone.final_norm, backbone.norm = False, None
    else:
        vars(backbone)["_modules"].pop(f"norm{backbone.out_indices[0]}", None)
    backbone.out_indices = (highest,)
