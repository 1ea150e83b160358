"""What all token mixers share: the call, the heads, the relative position bias.

Shapes: B images or windows, N tokens, C channels, H heads of width d = C / H, nW windows per image.
"""

from collections.abc import Callable

import torch
from timm.layers import trunc_normal_
from torch import Tensor, nn

from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_bool, check_int
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.windows import relative_position_index

#: Scores of the windows that are mixed at one time on a CPU (ours): 2^19 float32 are 2 MiB, 72 windows of 49 cells and 3 heads.
PORTION = 2**19


class TokenMixer(nn.Module):
    """Base of all mixers: x (B, N, C) -> (B, N, C).

    Every mixer is called as ``mixer(x, grid=None, mask=None)``. ``grid`` is the (H, W) of the patch tokens; tokens in
    front of them (class, registers) belong to no place. ``mask`` (nW, N, N) is added to the scores of a shifted window.

    Args:
        embed_dims: C.
        num_heads: H, a divisor of C.
        window_size: Side of the square windows the tokens come from; gives a mixer that works on scores its relative
            position bias. ``None`` (default): no such bias.

    Raises:
        ValueError: The heads do not divide the width.
    """

    #: Whether the mixer works on query-key scores: only then can it take a position bias and a mask.
    has_scores = False

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        window_size: int | None = None,
        out_dims: int | None = None,
        inner_dims: int | None = None,
        query_pool: int = 1,
    ) -> None:
        check_arguments(locals())
        if window_size is not None:
            check_int("window_size", window_size, 1)
        super().__init__()
        self.embed_dims = embed_dims
        self.out_dims = out_dims or embed_dims
        self.inner_dims = inner_dims or self.out_dims
        if num_heads < 1 or self.inner_dims % num_heads:
            raise ArgumentError(
                f"num_heads={num_heads} does not divide embed_dims={self.inner_dims}: take a divisor of the width"
            )
        self.num_heads = num_heads
        self.query_pool = query_pool
        self.scale = (self.inner_dims // num_heads) ** -0.5
        self.relative_position_bias_table: nn.Parameter | None = None
        if window_size is not None and self.has_scores:
            self._add_position_bias(window_size)

    def _add_position_bias(self, window_size: int) -> None:
        table = torch.zeros((2 * window_size - 1) ** 2, self.num_heads)
        self.relative_position_bias_table = nn.Parameter(trunc_normal_(table, std=0.02))
        self.window_size = window_size

    def refuse_mask(self, mask: Tensor | None) -> None:
        """Raise a ValueError for a mask, where no scores are formed to which it could be added."""
        if mask is not None:
            raise ArgumentError(
                f"{type(self).__name__} forms no scores and cannot take mask=: do not shift its windows"
            )

    def count_prefix(self, x: Tensor, grid: tuple[int, int] | None) -> int:
        """Number of tokens of x (B, N, C) in front of the grid's, for a mixer that needs to know where tokens lie.

        Raises:
            ValueError: No grid, or one with more cells than there are tokens.
        """
        if grid is None:
            raise ArgumentError(f"{type(self).__name__} needs grid=, the (H, W) of its {x.shape[1]} tokens")
        extra = x.shape[1] - grid[0] * grid[1]
        if extra < 0:
            raise ArgumentError(f"grid={tuple(grid)} has more cells than there are tokens ({x.shape[1]})")
        return extra

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, N, H * c) -> (B, H, N, c)."""
        B, N, _ = x.shape
        return x.reshape(B, N, self.num_heads, -1).transpose(1, 2)

    def add_qk_norm(self, qk_norm: bool) -> None:
        """LayerNorms over each head's q and k, or nothing."""
        check_bool("qk_norm", qk_norm)
        head_dims = self.inner_dims // self.num_heads
        self.q_norm = nn.LayerNorm(head_dims, eps=1e-6) if qk_norm else nn.Identity()
        self.k_norm = nn.LayerNorm(head_dims, eps=1e-6) if qk_norm else nn.Identity()

    def queries_keys_values(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Normed and pooled q (B, H, n, d), and k, v (B, H, N, d), from ``self.qkv`` of x (B, N, C)."""
        B, N, _ = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        q, k = self.q_norm(q), self.k_norm(k)
        return (q if self.query_pool == 1 else self._groups(q).amax(dim=-2)), k, v

    def group_mean(self, x: Tensor) -> Tensor:
        """Mean over each group of tokens that share a query: (..., N, c) -> (..., n, c)."""
        return x if self.query_pool == 1 else self._groups(x).mean(dim=-2)

    def _groups(self, x: Tensor) -> Tensor:
        return x.unflatten(-2, (-1, self.query_pool))  # (..., n, S, c)

    def score_bias(self, batch: int, mask: Tensor | None) -> Tensor | None:
        """What is added to the scores: position bias plus window mask.

        Returns:
            ``None``, (1, H, N, N) without a mask, or (batch, H, N, N) with one; for one image's windows, a view.
        """
        bias = None
        table = self.relative_position_bias_table
        if table is not None:
            index = relative_position_index(self.window_size, table.device)  # (N, N)
            bias = table[index].permute(2, 0, 1).unsqueeze(0)  # (1, H, N, N)
        if mask is None:
            return bias
        mask = mask.unsqueeze(1)  # (nW, 1, N, N)
        bias = mask.expand(-1, self.num_heads, -1, -1) if bias is None else bias + mask  # (nW, H, N, N)
        return bias if batch == bias.shape[0] else bias.repeat(batch // bias.shape[0], 1, 1, 1)

    def in_portions(self, mix: Callable[[Tensor, Tensor | None], Tensor], x: Tensor, mask: Tensor | None) -> Tensor:
        """Run ``mix(x, mask)`` on as many windows at a time as have their scores in the cache; (B, N, C) -> (B, n, C_out).

        All windows are mixed at once where scores have nothing added (``mix`` then forms none), where gradients are wanted
        (each portion would add to the weights' gradients by itself), elsewhere than on a CPU, and in a captured graph, whose
        size it would fix.

        Args:
            mix: Mixes windows (b, N, C) with their own masks (b, N, N), one image's at a time, or without any.
            x: All windows, those of an image behind each other.
            mask: (nW, N, N) or None.
        """
        portion = max(1, PORTION // (self.num_heads * x.shape[1] ** 2))
        plain = self.relative_position_bias_table is None and mask is None
        graph = torch.is_grad_enabled() or torch.compiler.is_compiling()
        if plain or graph or x.device.type != "cpu" or x.shape[0] <= portion:
            return mix(x, mask)
        if mask is None:
            return torch.cat([mix(part, None) for part in x.split(portion)])
        images = x.split(mask.shape[0])
        return torch.cat([mix(*parts) for image in images for parts in zip(image.split(portion), mask.split(portion))])


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, N, d) -> (B, N, H * d)."""
    return x.transpose(1, 2).flatten(2)
