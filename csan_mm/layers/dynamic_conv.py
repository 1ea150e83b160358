"""A depth-wise 3x3 convolution whose kernels depend on the image (WeightFormer, arXiv 2605.01711).

Tokens x (B, N, C) on an H x W grid; dw has one 3x3 kernel per image and channel:

    kernel = w + dw / (||dw||_2 over the 9 taps + 1),   y = depth-wise convolution of x with it, padding 1, + b

    strategy      dw
    adaptive      conv1x1(gelu(conv1x1(AdaptiveAvgPool_3x3(x)))), the second without bias: C -> C -> C
    conv          the same with two 3x3 convolutions, padding 1
    amp_dir       sigmoid(Linear_amp(mean of x)) * d / ||d||_2,  d = dw of 'adaptive': amplitude and direction apart
    gap           conv1x1(gelu(conv1x1(mean of x))): C -> C/4 -> 9 C

``adaptive`` ("spatially adaptive prediction") is published exactly. The paper names the others in a table and gives no
formula: these are our plainest reading. The widths of 'gap' are those of Han et al.'s dynamic depth-wise convolution (ICLR 2022).
"""

import torch
from timm.layers import trunc_normal_
from torch import Tensor, nn
from torch.nn.functional import conv2d, normalize, pad

from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.conv import Conv2d
from csan_mm.layers.dynamic import DynamicLayer, at_least_float32
from csan_mm.layers.pooling import adaptive_pool

CONV_STRATEGIES = ("gap", "adaptive", "amp_dir", "conv")


class DynamicDepthwiseConv(DynamicLayer):
    """(B, N, C) -> (B, N, C) by 3x3 kernels of the image's own; the formulas stand at the top of this file.

    Args:
        embed_dims: C.
        strategy: How dw is predicted: 'gap', 'adaptive', 'amp_dir' or 'conv'. Default: 'adaptive'.
        layer_scale: Start of learned gains on the guarded dw, one per channel; ``None`` (default): none, as published.

    Raises:
        ValueError: Unknown strategy, or a width that 'gap' cannot divide by 4.
    """

    def __init__(self, embed_dims: int, strategy: str = "adaptive", layer_scale: float | None = None) -> None:
        check_arguments(locals())
        super().__init__(norm_dims=(3, 4), gain_shape=(embed_dims, 1, 1, 1), layer_scale=layer_scale)
        if strategy not in CONV_STRATEGIES:
            raise ArgumentError(f"strategy={strategy!r} is unknown: take one of {', '.join(CONV_STRATEGIES)}")
        if strategy == "gap" and embed_dims % 4:
            raise ArgumentError(f"embed_dims={embed_dims} must be a multiple of 4 for strategy='gap'")
        self.embed_dims, self.strategy = embed_dims, strategy
        # Ten times below a fan-in start: it decides how strong dw is beside w (the authors' code).
        self.w = nn.Parameter(trunc_normal_(torch.empty(embed_dims, 1, 3, 3), std=0.02))
        self.b = nn.Parameter(trunc_normal_(torch.empty(embed_dims), std=0.02))
        hidden, out = (embed_dims // 4, 9 * embed_dims) if strategy == "gap" else (embed_dims, embed_dims)
        side = 3 if strategy == "conv" else 1
        self.wfm = nn.Sequential(
            Conv2d(embed_dims, hidden, side, padding=side // 2),
            nn.GELU(),
            Conv2d(hidden, out, side, padding=side // 2, bias=False),
        )
        self.amp = nn.Linear(embed_dims, embed_dims) if strategy == "amp_dir" else None

    def forward(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """Tokens on ``grid``, row by row."""
        convolve = shifted_products if torch.compiler.is_compiling() else grouped_convolution
        kernel = self.kernel(x, grid).squeeze(2).to(x.dtype)  # (B, C, 3, 3)
        return convolve(x.unflatten(1, grid), kernel, self.b).flatten(1, 2)

    def predict(self, x: Tensor, grid: tuple[int, int]) -> Tensor:
        """dw (B, C, 1, 3, 3)."""
        side = 1 if self.strategy == "gap" else 3
        pooled = adaptive_pool(x.unflatten(1, grid), (side, side))  # (B, side, side, C)
        update = self.wfm(pooled.permute(0, 3, 1, 2)).reshape(x.shape[0], self.embed_dims, 1, 3, 3)
        if self.amp is None:
            return update
        direction = normalize(at_least_float32(update).flatten(2), dim=2, eps=1e-6)
        amplitude = self.amp(x.mean(dim=1)).sigmoid()  # (B, C)
        return amplitude[:, :, None, None, None] * direction.view_as(update)

    def prediction_macs(self, grid: tuple[int, int]) -> int:
        """Multiply-accumulates that predicting the kernels of one image takes; the pooling is two matrix products."""
        height, width = grid
        per_square = {"gap": 10 / 4, "adaptive": 18, "amp_dir": 19, "conv": 162}[self.strategy]
        side = 1 if self.strategy == "gap" else 3
        pooling = side * height * width + side**2 * width
        return int(per_square * self.embed_dims**2) + pooling * self.embed_dims


def grouped_convolution(x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    """Depth-wise convolution of a map (B, H, W, C) with a kernel (B, C, 3, 3) per image: one group per image and channel."""
    B, H, W, C = x.shape
    maps = x.permute(0, 3, 1, 2).reshape(1, B * C, H, W)
    y = conv2d(maps, kernel.reshape(B * C, 1, 3, 3), bias.repeat(B), padding=1, groups=B * C)
    return y.reshape(B, C, H, W).permute(0, 2, 3, 1)


def shifted_products(x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    """The same as nine products, for captured graphs: the number of groups would fix the batch in them."""
    _, H, W, _ = x.shape
    x = pad(x, (0, 0, 1, 1, 1, 1))
    taps = kernel.permute(2, 3, 0, 1)[:, :, :, None, None]  # (3, 3, B, 1, 1, C)
    return sum(taps[i, j] * x[:, i : i + H, j : j + W] for i in range(3) for j in range(3)) + bias
