"""CSaN: attention whose softmax is compensated by what it throws away ("Selection-as-Nonlinearity", CVPR 2026).

The paper's symbols, with r = d^-0.5 and the shapes B, H (heads), N (tokens), C = H d:

    s_ij   = r q_i . k_j (+ position bias + window mask)                         (B, H, N, N)
    e_i    = mean_j phi(s_ij)                  row mean of rectified scores      (B, H, N, 1)
    iota   = e * sigmoid(u),  u = Linear_u(x)                                    (B, N, C/4)
    z      = act(Linear_reduce(iota))                                            (B, N, h)
    tau_i  = 1 + f(Linear_temp(z)_i)           temperature of query i            (B, H, N, 1)
    mu_j   = 1 + f(Linear_magk(z)_j)           gain of key j                     (B, H, N, 1)
    kpub   = 1 + f(Linear_ka(z))               gain of the public path           (B, N, C)
    kpriv  =     f(Linear_kv(z))               gain of the private path          (B, N, C)
    y_i    = sum_j softmax_j(tau_i s_ij) mu_j v_j * kpub_i + v_i * kpriv_i
    out    = Linear_proj(y)

Hiera pools queries: with S tokens to a group, q is their maximum, e_i is shared by the group, tau and kpub take the group's
mean z, mu and kpriv each token's own, and the private path is averaged over the group. N then counts keys, n = N / S queries.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from csan_mm.common.arguments import check_arguments
from csan_mm.common.errors import ArgumentError
from csan_mm.mixers.base import TokenMixer, merge_heads
from csan_mm.ops.phi_mean import BEND, blocked_phi_row_mean, phi_row_mean
from csan_mm.registry import MIXERS

KAPPAS = ("unbounded", "bounded")
GRANULARITIES = ("unit", "head")
GAINS = ("tau", "mu", "kpub", "kpriv")
#: Least width of z.
SMALLEST_Z = 24


class Trace(NamedTuple):
    """What CSaN computes on the way; the symbols are those at the top of this file, n queries and N keys."""

    q: Tensor  # scaled by r (B, H, n, d)
    k: Tensor  # (B, H, N, d)
    v: Tensor  # (B, H, N, d)
    scores: Tensor | None  # s (B, H, n, N); None: q k^T, which is not formed
    tau: Tensor  # (B, H, n, 1)
    mu: Tensor  # (B, H, N or 1, 1)
    kpub: Tensor  # (B, H, n, d or 1)
    kpriv: Tensor  # (B, H, N, d or 1)


class LinearGate(nn.Module):
    """act(t) = t * sigmoid(Linear(t)), the activation of unbounded kappa: (..., h) -> (..., h)."""

    def __init__(self, dims: int) -> None:
        super().__init__()
        self.proj = nn.Linear(dims, dims)

    def forward(self, t: Tensor) -> Tensor:
        """Gate t by itself."""
        return t * self.proj(t).sigmoid()


class NoGain(nn.Module):
    """In the place of a gain's linear layer: zeros, so that 1 + f is 1 and the private path 0; (..., h) -> (..., n)."""

    def __init__(self, dims: int) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, z: Tensor) -> Tensor:
        """Zeros beside z."""
        return z.new_zeros(*z.shape[:-1], self.dims)


@MIXERS.register_module(name="csan")
class CSaN(TokenMixer):
    """Compensated self-attention, (B, N, C) -> (B, N, C); the formulas stand at the top of this file.

    Without a position bias or mask no N x N array exists: the attention is one fused call on (tau q, k, mu v) and e comes
    from a blocked kernel. With one (windows, N = 49) the scores are formed once and used twice.

    Args:
        embed_dims: C, a multiple of 4 H (``u_reduction`` is the 4).
        num_heads: H.
        window_size: Gives windows their relative position bias, see :class:`TokenMixer`. Default: None.
        qkv_bias: Whether q, k and v have a bias. Default: True.
        kappa: 'unbounded' (act gated linear, f identity; the reported models) or 'bounded' (act GELU, f tanh; safer in
            fp16). Default: 'unbounded'.
        granularity: Gains of the two paths per 'unit' (channel) or per 'head'. Default: 'unit'.
        qk_norm: LayerNorm on each head's q and k, as timm has it. Default: False.
        out_dims: Width of the output. Default: ``embed_dims``.
        inner_dims: Width that is split over the heads, C in the formulas. Default: ``out_dims``.
        query_pool: S, the number of successive tokens that share one query. Default: 1.
        off: Gains to leave out, of 'tau', 'mu', 'kpub' (each is then 1) and 'kpriv' (then 0, no private path), for the paper's
            ablations; at least one stays. Default: none.
        bend: b, where phi turns from an exponential into the identity. Default: 0.25.
        u_reduction: C over the width of u; C is a multiple of it times H. Default: 4.
        z_reduction: C over the width h of z, which is 24 at least. Default: 8.
        pooled_mu: mu from the mean of z over all tokens that attend to each other, one gain per head, as the paper writes it.
            False (default), as the released code has it: each key token's own z.

    Raises:
        ValueError: A width the heads do not divide, an unknown kappa or granularity, options that contradict each other.
    """

    has_scores = True

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        window_size: int | None = None,
        qkv_bias: bool = True,
        kappa: str = "unbounded",
        granularity: str = "unit",
        qk_norm: bool = False,
        out_dims: int | None = None,
        inner_dims: int | None = None,
        query_pool: int = 1,
        off: Sequence[str] = (),
        bend: float = BEND,
        u_reduction: int = 4,
        z_reduction: int = 8,
        pooled_mu: bool = False,
    ) -> None:
        check_arguments(locals())
        super().__init__(embed_dims, num_heads, window_size, out_dims, inner_dims, query_pool)
        width = self.inner_dims
        self._check(kappa, granularity, u_reduction)
        self._check_off(off, pooled_mu)
        self.bend, self.pooled_mu = bend, pooled_mu
        hidden = max(width // z_reduction, SMALLEST_Z)
        gains = width if granularity == "unit" else num_heads
        self.qkv = nn.Linear(embed_dims, 3 * width, bias=qkv_bias)
        self.add_qk_norm(qk_norm)
        self.u = nn.Linear(embed_dims, width // u_reduction)
        self.reduce = nn.Linear(width // u_reduction, hidden)
        self.act = LinearGate(hidden) if kappa == "unbounded" else nn.GELU()
        self.squash = nn.Identity() if kappa == "unbounded" else nn.Tanh()  # f
        self.ka = NoGain(gains) if "kpub" in off else nn.Linear(hidden, gains)
        self.kv = NoGain(gains) if "kpriv" in off else nn.Linear(hidden, gains)
        self.magk = NoGain(num_heads) if "mu" in off else nn.Linear(hidden, num_heads)
        self.temp = NoGain(num_heads) if "tau" in off else nn.Linear(hidden, num_heads)
        self.proj = nn.Linear(width, self.out_dims)

    def _check(self, kappa: str, granularity: str, u_reduction: int) -> None:
        if self.inner_dims % (u_reduction * self.num_heads):
            raise ArgumentError(
                f"embed_dims={self.inner_dims} cannot be split over num_heads={self.num_heads} with u_reduction={u_reduction}: "
                f"the heads share u, so the width must be a multiple of {u_reduction * self.num_heads}"
            )
        if kappa not in KAPPAS:
            raise ArgumentError(f"kappa={kappa!r} is unknown: take one of {', '.join(KAPPAS)}")
        if granularity not in GRANULARITIES:
            raise ArgumentError(f"granularity={granularity!r} is unknown: take one of {', '.join(GRANULARITIES)}")

    @staticmethod
    def _check_off(off: Sequence[str], pooled_mu: bool) -> None:
        if isinstance(off, str) or not set(off) <= set(GAINS):
            raise ArgumentError(f"off={off!r}: take a list of names out of {', '.join(GAINS)}")
        if set(off) == set(GAINS):
            raise ArgumentError(f"off={off!r} leaves plain attention: take mixer='softmax'")
        if pooled_mu and "mu" in off:
            raise ArgumentError(f"pooled_mu=True needs mu, which off={off!r} leaves out: set one of them back")

    def forward(self, x: Tensor, grid: tuple[int, int] | None = None, mask: Tensor | None = None) -> Tensor:
        """Mix tokens x (B, N, C) -> (B, n, C_out); the grid is not needed."""
        return self.in_portions(self.mix, x, mask)

    def mix(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """The formulas for a portion of the windows, see :meth:`in_portions`."""
        q, k, v, s, tau, mu, kpub, kpriv = self.trace(x, mask)
        y = fused_attention(q, k, v, tau, mu) if s is None else scored_attention(s, v, tau, mu)  # (B, H, n, d)
        return self.proj(merge_heads(y * kpub + self.group_mean(v * kpriv)))

    def trace(self, x: Tensor, mask: Tensor | None = None) -> Trace:
        """All up to the attention, for :meth:`forward` and for diagnostics."""
        q, k, v = self.queries_keys_values(x)
        q = q * self.scale
        bias = self.score_bias(x.shape[0], mask)
        s = None if bias is None else q @ k.transpose(-2, -1) + bias
        e = blocked_phi_row_mean(q, k, bend=self.bend) if s is None else phi_row_mean(s, self.bend)  # (B, H, n, 1)
        return Trace(q, k, v, s, *self.gains(self.signal(e, x)))

    def signal(self, e: Tensor, x: Tensor) -> Tensor:
        """z = act(Linear_reduce(e * sigmoid(Linear_u(x)))): (B, H, n, 1), (B, N, C) -> (B, N, h)."""
        e = e.repeat_interleave(self.query_pool, dim=2) if self.query_pool > 1 else e
        iota = e * self.split_heads(self.u(x)).sigmoid()  # (B, H, N, C/4/H)
        return self.act(self.reduce(merge_heads(iota).to(x.dtype)))

    def gains(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """tau (B, H, n, 1), mu (B, H, N or 1, 1), kpub (B, H, n, d or 1), kpriv (B, H, N, d or 1) from z (B, N, h)."""
        f, split, shared = self.squash, self.split_heads, self.group_mean(z)
        tau, kpub = 1 + f(split(self.temp(shared))), 1 + f(split(self.ka(shared)))
        of_keys = z.mean(dim=1, keepdim=True) if self.pooled_mu else z
        mu, kpriv = 1 + f(split(self.magk(of_keys))), f(split(self.kv(z)))
        return tau, mu, kpub, kpriv


def scored_attention(s: Tensor, v: Tensor, tau: Tensor, mu: Tensor) -> Tensor:
    """sum_j softmax_j(tau_i s_ij) mu_j v_j from the scores s (B, H, N, N): the plain form, and the only one a bias allows."""
    attention = (tau * s).softmax(dim=-1)
    return attention.to(v.dtype) @ (mu * v).to(v.dtype)


def fused_attention(q: Tensor, k: Tensor, v: Tensor, tau: Tensor, mu: Tensor) -> Tensor:
    """The same from scaled queries by one fused call, since softmax(tau q k^T) mu v = SDPA(tau q, k, mu v)."""
    dtype = torch.promote_types(q.dtype, v.dtype)
    return scaled_dot_product_attention((tau * q).to(dtype), k.to(dtype), (mu * v).to(dtype), scale=1.0)
