"""Linear attention, and the frame it shares with MALA (linear attention: Katharopoulos et al., arXiv 2006.16236).

With r = d^-0.5, phi(t) = ELU(t) + 1, q_i and k_j standing for phi(q_i) and phi(k_j), q~ and k~ for the rotated ones:

    s_ij = r q~_i . k~_j / N                    scores                          never formed
    z_i  = r q_i . mean_j(k_j)                  normaliser, before the rotation (B, H, N, 1)
    A_ij = s_ij / z_i                           linear attention
    A_ij = (1 + 1/z_i) s_ij - z_i / N           MALA, see mala.py

Both are A_ij = beta_i s_ij - gamma_i. We compute sum_j A_ij v_j in O(N d^2), with v split into its mean and the rest:

    out_i = beta_i q~_i (sum_j k~_j^T (v_j - mean(v)) r / N) + w_i mean(v),   w_i = sum_j A_ij  known in closed form

so that gamma meets only the mean, and no two large numbers are subtracted: a constant v comes back as it is at any N.
The published code subtracts z_i mean(v) from q~ kv (1 + 1/z_i), which is the same but for rounding.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import elu, relu

from csan_mm.common.arguments import check_arguments
from csan_mm.common.checks import check_choice
from csan_mm.layers.rotary import Rotary2D, Rotation, rotate
from csan_mm.mixers.base import TokenMixer, merge_heads
from csan_mm.ops.autocast import autocast_off
from csan_mm.registry import MIXERS

#: Smallest magnitude of a normaliser that is inverted. The published code adds as much to z instead, and its rows do not
#: quite sum to 1.
EPS = 1e-6

#: phi. The exponential overflows above 88; MALA and linear attention start from elu+1. 'relu+eps' is that of CBSA's authors
#: (arXiv 2509.16875), for their comparison on pre-trained ViTs.
KERNELS: dict[str, Callable[[Tensor], Tensor]] = {
    "elu+1": lambda t: elu(t) + 1,
    "relu": relu,
    "exp": torch.exp,
    "relu+eps": lambda t: relu(t) + EPS,
}


class LinearOperator(nn.Module):
    """Linear attention on heads: q, k, v (B, H, N, d) -> (B, H, N, d), A_ij = s_ij / z_i; its rows sum to 1.

    Under autocast, or in a half type, everything runs in float32 and the result has the type of v: sums over 67,200
    tokens and inverses of small z do not fit into 16 bits.

    Args:
        num_heads: H.
        head_dims: d.
        kernel: phi: 'elu+1', 'relu', 'exp' or 'relu+eps' (relu(t) + 1e-6). Default: 'elu+1'.
        rotary_in_z: z from the rotated q and k, as MALA's paper has it: rows sum to 1 with a rotation too, but z can come
            near 0 and below. False (default), as MALA's released code has it: z before the rotation, positive.
        added_eps: Added to q_i . mean_j(k_j) before it is inverted; CBSA's authors take 1e-6. Default: 0, it is only kept from 0.

    Raises:
        ValueError: An unknown kernel.
    """

    def __init__(
        self,
        num_heads: int,
        head_dims: int,
        kernel: str = "elu+1",
        rotary_in_z: bool = False,
        added_eps: float = 0.0,
    ) -> None:
        check_arguments(locals())
        super().__init__()
        check_choice("kernel", kernel, tuple(KERNELS))
        self.num_heads = num_heads
        self.scale = head_dims**-0.5
        self.kernel = kernel
        self.rotary_in_z = rotary_in_z
        self.added_eps = added_eps

    def forward(self, q: Tensor, k: Tensor, v: Tensor, rotation: Rotation | None = None) -> Tensor:
        """Attend, with q and k turned by ``rotation`` behind phi (``None``: not turned)."""
        dtype, phi = v.dtype, KERNELS[self.kernel]
        with autocast_off(q.device):
            q, k, v = (t.to(torch.promote_types(t.dtype, torch.float32)) for t in (q, k, v))
            q, k = phi(q), phi(k)
            z = z_rotated = self.normaliser(q, k)  # (B, H, N, 1)
            if rotation is not None:
                q, k = rotate(q, rotation), rotate(k, rotation)
                z_rotated = self.normaliser(q, k)
            z = z_rotated if self.rotary_in_z else z
            beta, row_sum = self.weights(z, z_rotated)
            v_mean = v.mean(dim=-2, keepdim=True)  # (B, H, 1, d)
            # Divided by N as it is: a quotient r / N of its own is what torch.export cannot write for an N that is open.
            kv = (k.transpose(-2, -1) @ (v - v_mean)) / k.shape[-2] * self.scale  # (B, H, d, d)
            return (beta * (q @ kv) + row_sum * v_mean).to(dtype)

    def normaliser(self, q: Tensor, k: Tensor) -> Tensor:
        """r q_i . mean_j(k_j), (B, H, N, 1): the row sum of the scores."""
        return q @ (self.scale * k.mean(dim=-2, keepdim=True)).transpose(-2, -1)

    def weights(self, z: Tensor, z_rotated: Tensor) -> tuple[Tensor, Tensor]:
        """beta_i and the row sums w_i = beta_i z~_i - N gamma_i, (B, H, N, 1) each, from z and the scores' row sums z~."""
        inverse = (z + self.scale * self.added_eps).reciprocal() if self.added_eps else safe_inverse(z)
        return inverse, z_rotated * inverse


def safe_inverse(z: Tensor) -> Tensor:
    """1/z, at most 1/EPS in magnitude and without a gradient there."""
    smallest = torch.where(z < 0, -EPS, EPS).to(z.dtype)
    return torch.where(z.abs() < EPS, smallest, z).reciprocal()


@MIXERS.register_module(name="linear")
class LinearAttention(TokenMixer):
    """Linear attention as a mixer for any backbone: qkv, :class:`LinearOperator` on rotated q and k, proj.

    It has no scores, so no position bias; where tokens lie it knows from the rotation. A shifted window's mask cannot be
    obeyed and is refused: SwinCSaN does not shift the windows of such a mixer.

    Args:
        embed_dims: C.
        num_heads: H, a divisor of C.
        window_size: Accepted from windowed backbones; there is no bias to size. Default: None.
        qkv_bias: Whether q, k and v have a bias. Default: True.
        rotary: Turn q and k by their place in the grid (d a multiple of 4). Default: True.
        kernel: See :class:`LinearOperator`. Default: 'elu+1'.
        rotary_in_z: See :class:`LinearOperator`. Default: False.
        qk_norm: LayerNorm on each head's q and k before phi. Default: False.
        inner_dims: Width within the attention. Default: ``embed_dims``.
        added_eps: See :class:`LinearOperator`. Default: 0.

    Raises:
        ValueError: A width the heads do not divide or that cannot be rotated, an unknown kernel.
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
        added_eps: float = 0.0,
    ) -> None:
        check_arguments(locals())
        super().__init__(embed_dims, num_heads, window_size, inner_dims=inner_dims)
        head_dims = self.inner_dims // num_heads
        self.qkv = nn.Linear(embed_dims, 3 * self.inner_dims, bias=qkv_bias)
        self.add_qk_norm(qk_norm)
        self.rotary = Rotary2D(head_dims) if rotary else None
        self.operator = LinearOperator(num_heads, head_dims, kernel, rotary_in_z, added_eps)
        self.proj = nn.Linear(self.inner_dims, embed_dims)

    def forward(self, x: Tensor, grid: tuple[int, int] | None = None, mask: Tensor | None = None) -> Tensor:
        """Mix tokens x (B, N, C).

        Args:
            x: Tokens of the grid, row by row; further ones in front of them do not turn.
            grid: (H, W) of the tokens; needed with a rotation.
            mask: Must be ``None``.

        Raises:
            ValueError: A mask, or no fitting grid.
        """
        self.refuse_mask(mask)
        q, k, v = self.queries_keys_values(x)  # (B, H, N, d) each
        rotation = None if self.rotary is None else self.rotary(grid, x, self.count_prefix(x, grid))
        return self.readout(self.operator(q, k, v, rotation), v, x, grid)

    def readout(self, y: Tensor, v: Tensor, x: Tensor, grid: tuple[int, int] | None) -> Tensor:
        """From what the operator made of v, both (B, H, N, d), to the output (B, N, C)."""
        return self.proj(merge_heads(y))
