"""MALA: magnitude-aware linear attention ("Rectifying Magnitude Neglect in Linear Attention", ICCV 2025, arXiv 2507.00698).

In the symbols of linear.py (r = d^-0.5, scores s_ij = r q~_i . k~_j / N, normaliser z_i = r q_i . mean_j(k_j)):

    beta_i  = 1 + 1/z_i                         the paper's beta on these scores
    gamma_i = z_i / N                           the paper's gamma
    A_ij    = beta_i s_ij - gamma_i,   out_i = sum_j A_ij v_j

Without a rotation every row of A sums to beta_i z_i - z_i = 1, and a longer q_i makes its row sharper: the magnitude of q,
which linear attention divides out, is kept.

The published code takes z before the rotation, the paper writes it after. Both are here (``rotary_in_z``), the code's is the
default, since its figures are the reported ones.
"""

import torch
from torch import Tensor, nn

from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.layers.depthwise import DepthwiseConv2d, convolve_tokens
from csan_mm.mixers.base import merge_heads
from csan_mm.mixers.linear import LinearAttention, LinearOperator, safe_inverse
from csan_mm.registry import MIXERS


class MALAOperator(LinearOperator):
    """Magnitude-aware linear attention on heads: q, k, v (B, H, N, d) -> (B, H, N, d); formulas at the top of this file.

    Args:
        num_heads: H.
        head_dims: d.
        kernel: See :class:`LinearOperator`. Default: 'elu+1'.
        rotary_in_z: See :class:`LinearOperator`. Default: False.
        use_beta: False: beta = 1. Default: True.
        use_gamma: False: gamma = 0 (diverged in the paper). Default: True.
        learnable: beta and N gamma are one learned number per head each, which start where q = k = 0 has them (z = d^0.5).
            Default: False, they are computed.

    Raises:
        ValueError: An unknown kernel; ``learnable`` with nothing to learn.
    """

    def __init__(
        self,
        num_heads: int,
        head_dims: int,
        kernel: str = "elu+1",
        rotary_in_z: bool = False,
        use_beta: bool = True,
        use_gamma: bool = True,
        learnable: bool = False,
    ) -> None:
        check_arguments(locals())
        super().__init__(num_heads, head_dims, kernel, rotary_in_z)
        if learnable and not (use_beta or use_gamma):
            raise ArgumentError(
                "learnable=True learns nothing with use_beta=False and use_gamma=False: switch one of them on"
            )
        self.use_beta, self.use_gamma = use_beta, use_gamma
        z = torch.full((num_heads, 1, 1), head_dims**0.5)
        self.beta = nn.Parameter(1 + 1 / z) if learnable and use_beta else None
        self.gamma = nn.Parameter(z) if learnable and use_gamma else None

    def weights(self, z: Tensor, z_rotated: Tensor) -> tuple[Tensor, Tensor]:
        """beta_i and the row sums w_i = beta_i z~_i - N gamma_i, (B, H, N, 1) each.

        beta = 1 + 1/z is not multiplied out: (z~ - z) + z~/z is 1 without a rotation however large z is.
        """
        gamma = self.gamma  # N gamma_i
        if gamma is None:
            gamma = z if self.use_gamma else torch.zeros_like(z)
        if self.beta is not None:
            return self.beta, self.beta * z_rotated - gamma
        inverse = safe_inverse(z) if self.use_beta else torch.zeros_like(z)
        return 1 + inverse, (z_rotated - gamma) + z_rotated * inverse


@MIXERS.register_module(name="mala")
class MALA(LinearAttention):
    """MALA as a mixer for any backbone: qkv, :class:`MALAOperator` on rotated q and k, proj.

    As :class:`LinearAttention` it has no position bias and refuses masks. With ``gate`` and ``local_enhancement`` it is the whole
    attention of MAViT: out = Linear_proj((MALA(q, k, v) + dwconv5x5(v)) * Linear_gate(x)).

    Args:
        embed_dims: C.
        num_heads: H, a divisor of C.
        window_size: Accepted from windowed backbones; there is no bias to size. Default: None.
        qkv_bias: Whether q, k and v have a bias. Default: True.
        rotary: Turn q and k by their place in the grid (d a multiple of 4). Default: True.
        kernel: See :class:`LinearOperator`, like the next. Default: 'elu+1'.
        rotary_in_z: Default: False.
        qk_norm: LayerNorm on each head's q and k before phi. Default: False.
        inner_dims: Width within the attention. Default: ``embed_dims``.
        use_beta: See :class:`MALAOperator`, like all that follow. Default: True.
        use_gamma: Default: True.
        learnable: Default: False.
        gate: Multiply by a linear map of x, without activation, before the projection. Default: False.
        local_enhancement: Add a depth-wise 5x5 convolution of v on the grid; tokens in front of it get nothing. Default: False.

    Raises:
        ValueError: As the two; on calling, no grid for the convolution.
    """

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        window_size: int | None = None,
        qkv_bias: bool = True,
        rotary: bool = True,
        kernel: str = "elu+1",
        rotary_in_z: bool = False,
        qk_norm: bool = False,
        inner_dims: int | None = None,
        use_beta: bool = True,
        use_gamma: bool = True,
        learnable: bool = False,
        gate: bool = False,
        local_enhancement: bool = False,
    ) -> None:
        check_arguments(locals())
        super().__init__(embed_dims, num_heads, window_size, qkv_bias, rotary, kernel, rotary_in_z, qk_norm, inner_dims)
        head_dims = self.inner_dims // num_heads
        self.operator = MALAOperator(num_heads, head_dims, kernel, rotary_in_z, use_beta, use_gamma, learnable)
        self.gate = nn.Linear(embed_dims, self.inner_dims) if gate else None
        self.lepe = DepthwiseConv2d(self.inner_dims, 5) if local_enhancement else None

    def readout(self, y: Tensor, v: Tensor, x: Tensor, grid: tuple[int, int] | None) -> Tensor:
        """Local enhancement, gate and projection: y, v (B, H, N, d) -> (B, N, C)."""
        y = merge_heads(y)
        if self.lepe is not None:
            y = y + convolve_tokens(self.lepe, merge_heads(v), grid, self.count_prefix(x, grid))
        return self.proj(y if self.gate is None else y * self.gate(x))
