"""What backbones of one width and one resolution share (ViT, WeightFormer, CBT): tokens in, maps or tokens out.

Shapes: (B, N, C) tokens, prefix tokens (class, registers) first, then the H x W patches row by row.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor, nn

from csan_mm.backbones.base import DenseBackbone, check_image
from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_choice
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.pyramid import PyramidFromDepths

OUT_TYPES = ("featmap", "pyramid", "raw", "cls_token", "avg_featmap")
MAP_TYPES = ("featmap", "pyramid")


class IsotropicBackbone(DenseBackbone):
    """Base of isotropic backbones; level i is block i.

    A subclass builds its stem, ``self.blocks`` and, if ``final_norm``, ``self.norm``, and says in :meth:`embed` how an image
    becomes tokens. A block is called as ``block(tokens, grid)``. ``width_weight`` names a weight with C rows that only files of
    this family have.

    Args:
        embed_dims: C.
        depth: Number of blocks.
        patch_size: Stride of the map.
        num_prefix: Number of tokens in front of the patches; the first is the class token, if there is one.
        out_type: As in mmpretrain: 'featmap' (B, C, H, W), 'raw' all tokens (B, N, C), 'cls_token' (B, C), 'avg_featmap' (B, C),
            the mean over the patches. Besides, 'pyramid': the maps of four ``out_indices`` at 1/4, 1/2, 1 and 2 times the
            patches' stride, for UPerNet (:class:`PyramidFromDepths`). Default: 'featmap'.
        final_norm: Norm behind the last block, when that is returned. Output norms (``norm_cfg``) are for the other blocks, and
            for the last one where there is no final norm. Default: True.
        out_indices: Default: -1, the last block.
        **shared: See :class:`DenseBackbone`.

    Raises:
        ValueError: Unknown ``out_type``; class tokens wanted where there are none; an output norm that works on maps only
            where tokens are returned; a pyramid of other than four maps.
    """

    width_weight: ClassVar[str] = "patch_embed.proj.weight"

    def __init__(
        self,
        embed_dims: int,
        depth: int,
        patch_size: int,
        num_prefix: int,
        /,
        out_type: str = "featmap",
        final_norm: bool = True,
        out_indices: int | Sequence[int] = -1,
        norm_cfg: dict[str, Any] | None = None,
        **shared: Any,
    ) -> None:
        check_arguments(locals())
        check_choice("out_type", out_type, OUT_TYPES)
        if out_type == "cls_token" and num_prefix == 0:
            raise ArgumentError(
                "out_type='cls_token' needs a class token and this backbone has none: take 'avg_featmap'"
            )
        if out_type not in MAP_TYPES and norm_cfg is not None and norm_cfg.get("type") != "LN":
            raise ArgumentError(
                f"norm_cfg={norm_cfg!r} works on maps, and out_type={out_type!r} returns tokens: take dict(type='LN')"
            )
        levels = [1] * depth
        super().__init__(
            [embed_dims] * depth, [patch_size] * depth, levels, out_indices=out_indices, norm_cfg=norm_cfg, **shared
        )
        self.embed_dims = embed_dims
        self.patch_size = patch_size
        self.num_prefix = num_prefix
        self.out_type = out_type
        self.final_norm = final_norm and depth - 1 in self.out_indices
        self.pyramid = self._pyramid() if out_type == "pyramid" else None

    def _pyramid(self) -> PyramidFromDepths:
        if len(self.out_indices) != 4:
            even = tuple(round((i + 1) * len(self.depths) / 4) - 1 for i in range(4))
            raise ArgumentError(
                f"out_type='pyramid' takes four out_indices and got {self.out_indices}: take for instance {even}"
            )
        pyramid = PyramidFromDepths(self.embed_dims, self.patch_size)
        self.strides = pyramid.strides
        return pyramid

    def embed(self, image: Tensor) -> tuple[Tensor, tuple[int, int]]:
        """Image (B, 3, H, W) -> tokens (B, N, C) and the (H, W) of their patches."""
        raise NotImplementedError(f"{type(self).__name__} must say how an image becomes tokens")

    def levels(self, image: Tensor, wanted: Sequence[int]) -> tuple[Tensor, ...]:
        """Image (B, in_channels, H, W) -> the outputs of some blocks, as ``out_type`` says."""
        x, grid = self.embed(check_image(image))
        outputs = []
        for i, block in enumerate(self.blocks):
            x = self.run_block(block, x, grid)
            if i in wanted:
                outputs.append(self.token_output(x, grid, i, image))
        return tuple(outputs)

    def token_output(self, x: Tensor, grid: tuple[int, int], index: int, image: Tensor) -> Tensor:
        """A block's tokens (B, N, C) as they leave the backbone."""
        if self.final_norm and index == len(self.depths) - 1:
            x = self.norm(x)
        if self.out_type in MAP_TYPES:
            y = self.output(x[:, self.num_prefix :].unflatten(1, grid), index, image)
            return y if self.pyramid is None else self.pyramid(y, self.out_indices.index(index), image)
        norm = getattr(self, f"norm{index}", None)
        x = x if norm is None else norm(x)
        if self.out_type == "raw":
            return x
        return x[:, 0] if self.out_type == "cls_token" else x[:, self.num_prefix :].mean(dim=1)

    def normed_levels(self) -> tuple[int, ...]:
        """Output norms stand where no final norm does."""
        last = len(self.depths) - 1
        return tuple(i for i in self.out_indices if not (self.final_norm and i == last))

    def source_of(self, level: int) -> str:
        """The pyramid's rescaling; the final norm behind the last block, where there is one; else as in all backbones."""
        if self.pyramid is not None:
            return f"pyramid.{self.out_indices.index(level)}"
        return "norm" if self.final_norm and level == len(self.depths) - 1 else super().source_of(level)

    def stage_name(self, level: int) -> str:
        """The block itself."""
        return f"blocks.{level}"

    def stem(self) -> list[nn.Module | nn.Parameter]:
        """What turns an image into tokens: modules and parameters."""
        raise NotImplementedError(f"{type(self).__name__} must say what its stem is")

    def parts(self) -> list[list[nn.Module | nn.Parameter]]:
        """The stem, then each block; the final norm and the pyramid go with the last one."""
        blocks = [[block] for block in self.blocks]
        blocks[-1] += [part for part in (self.norm, self.pyramid) if part is not None]
        return [self.stem(), *blocks]

    def block_of(self, param_name: str) -> int | None:
        """By the number behind ``blocks.``; norms and the pyramid stand behind the blocks, all else before them."""
        if param_name.startswith("blocks."):
            return int(param_name.split(".")[1])
        return None if param_name.startswith(("norm", "pyramid.")) else -1

    @property
    def unbuilt_prefixes(self) -> tuple[str, ...]:
        """The blocks above the highest returned level, and the norm behind the last."""
        blocks = tuple(f"blocks.{i}." for i in range(self.num_built, len(self.depths)))
        return blocks if self.final_norm else (*blocks, "norm.")

    @classmethod
    def read_dims(cls, state: dict[str, Tensor]) -> dict[str, Any] | None:
        """Width and depth."""
        if cls.width_weight not in state:
            return None
        blocks = {name.split(".")[1] for name in state if name.startswith("blocks.")}
        return {"embed_dims": state[cls.width_weight].shape[0], "depth": len(blocks)}
