"""A linear layer whose matrix depends on the image (WeightFormer, arXiv 2605.01711).

Tokens x (B, N, C) on an H x W grid, n pooled tokens xp, output width C', rate r = 4, pooling p = 2:

    xp = p x p average pooling of the grid, odd last row and column dropped            (B, n, C)
    dW = A^T Bm C^-0.5 / N                                                             (B, C, C')
    W  = w + dW / (||dW||_2 over the input axis + 1)
    y  = x W + b                                                                       (B, N, C')

    strategy      A                         Bm
    bilateral     silu(a) w1                silu(b) w2       a, b = split(Linear_wfm(xp): C -> C/r + C'/r)
    deep          xp                        silu(b) w2       b = Linear_wfm(xp): C -> C'/r
    nonlinear     xp                        silu(xp w2)
    linear        xp                        xp w2            so that dW is (X^T X) w2
    gap           as nonlinear, from the mean of all tokens alone: n = N = 1

``bilateral`` is published exactly. The paper names the others in a table and gives no formula: these are our plainest reading of
"from the global average", "X^T X, no activation", "with SiLU", "low-rank, deeper".
"""

import torch
from timm.layers import trunc_normal_
from torch import Tensor, nn
from torch.nn.functional import silu

from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.dynamic import DynamicLayer, pool_pairs

LINEAR_STRATEGIES = ("gap", "linear", "nonlinear", "deep", "bilateral")


class DynamicLinear(DynamicLayer):
    """(B, N, C) -> (B, N, C') by one matrix per image; the formulas stand at the top of this file.

    Args:
        in_features: C.
        out_features: C'.
        strategy: How dW is predicted: 'gap', 'linear', 'nonlinear', 'deep' or 'bilateral'. Default: 'bilateral'.
        rate: r, by which the hidden widths of 'deep' and 'bilateral' are smaller. Default: 4.
        layer_scale: Start of learned gains on the guarded dW, one per output; ``None`` (default): none, as published.
        pooling: p, a power of two: the grid is halved so often, dropping an odd last row or column each time; a side of 1 stays.
            Default: 2.

    Raises:
        ValueError: Unknown strategy, widths that ``rate`` does not divide, a ``pooling`` that is not a power of two.

    Example:
        >>> DynamicLinear(48, 192)(torch.randn(2, 35, 48), grid=(5, 7)).shape
        torch.Size([2, 35, 192])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        strategy: str = "bilateral",
        rate: int = 4,
        layer_scale: float | None = None,
        pooling: int = 2,
    ) -> None:
        check_arguments(locals())
        super().__init__(norm_dims=(1,), gain_shape=(out_features,), layer_scale=layer_scale)
        if strategy not in LINEAR_STRATEGIES:
            raise ArgumentError(f"strategy={strategy!r} is unknown: take one of {', '.join(LINEAR_STRATEGIES)}")
        if strategy in ("bilateral", "deep") and (in_features % rate or out_features % rate):
            raise ArgumentError(f"rate={rate} must divide in_features={in_features} and out_features={out_features}")
        if pooling & (pooling - 1):
            raise ArgumentError(f"pooling={pooling} is not a power of two: take 1, 2, 4, 8, ...")
        self.in_features, self.out_features, self.strategy = in_features, out_features, strategy
        self.halvings = pooling.bit_length() - 1
        left = in_features // rate if strategy == "bilateral" else 0
        right = out_features // rate if strategy in ("bilateral", "deep") else 0
        self.hidden = (left, right)
        self.w = _matrix(in_features, out_features)
        self.b = nn.Parameter(trunc_normal_(torch.empty(out_features), std=0.02))
        self.wfm = nn.Linear(in_features, left + right) if right else None
        self.w1 = _matrix(left, in_features) if left else None
        self.w2 = _matrix(right or in_features, out_features)

    def forward(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """Tokens on ``grid``, row by row."""
        return torch.baddbmm(self.b, x, self.kernel(x, grid).to(x.dtype))

    def predict(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """dW (B, C, C')."""
        if self.strategy == "gap":
            x, count = x.mean(dim=1, keepdim=True), 1
        else:
            count = x.shape[1]
            x = x.unflatten(1, grid)
            for _ in range(self.halvings):
                x = pool_pairs(pool_pairs(x, 1), 2)
            x = x.flatten(1, 2)  # (B, n, C)
        left, right, w2 = self._factors(x)
        # Divided before the product: in float16 the sum over the tokens would overflow.
        return product(left, right / count, self.w1, w2) * self.in_features**-0.5

    def _factors(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """What A and Bm are made of: A = left w1, Bm = right w2, a missing matrix standing for the identity."""
        if self.strategy == "bilateral":
            left, right = self.wfm(x).split(self.hidden, dim=-1)
            return silu(left), silu(right), self.w2
        if self.strategy == "deep":
            return x, silu(self.wfm(x)), self.w2
        if self.strategy == "linear":
            return x, x, self.w2
        return x, silu(x @ self.w2), None

    def prediction_macs(self, grid: tuple[int, int]) -> int:
        """Multiply-accumulates that predicting the matrix of one image takes."""
        rows, columns = (max(1, side >> self.halvings) for side in grid)
        n = 1 if self.strategy == "gap" else rows * columns
        width, out = self.in_features, self.out_features
        if self.strategy in ("gap", "nonlinear"):
            return 2 * n * width * out
        left, right = self.hidden
        return n * width * (left + right) + min(product_macs(n, left or width, right or width, width, out, bool(left)))


def product(left: Tensor, right: Tensor, w1: Tensor | None, w2: Tensor | None) -> Tensor:
    """(left w1)^T (right w2), by the cheaper of two orders: (B, n, l), (B, n, r) -> (B, C, C').

    The paper's order multiplies n x C by n x C'; from some fifty (T) or hundred (S) pooled tokens up it is cheaper to
    contract the tokens first, and the cost then hardly grows with n. A captured graph always has the second order.
    """
    if w2 is None:
        return left.transpose(1, 2) @ right
    width = left.shape[-1] if w1 is None else w1.shape[1]
    if not torch.compiler.is_compiling():
        shape = (left.shape[1], left.shape[-1], right.shape[-1], width, w2.shape[1])
        tokens_last, tokens_first = product_macs(*shape, expands=w1 is not None)
        if tokens_last < tokens_first:
            return (left if w1 is None else left @ w1).transpose(1, 2) @ (right @ w2)
    inner = left.transpose(1, 2) @ right @ w2  # (B, l, C')
    return inner if w1 is None else w1.T @ inner


def product_macs(n: int, left: int, right: int, width: int, out: int, expands: bool) -> tuple[int, int]:
    """Multiply-accumulates of :func:`product` in the paper's order and with the tokens contracted first."""
    tokens_last = n * (left * width * expands + right * out + width * out)
    tokens_first = n * left * right + left * right * out + left * width * out * expands
    return tokens_last, tokens_first


def _matrix(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(trunc_normal_(torch.empty(rows, columns), std=0.02))
