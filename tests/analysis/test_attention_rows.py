"""Rows of attention against the length of queries: closed forms, the operators themselves, a correlation that is known."""

import json
import math
from itertools import pairwise

import pytest
import torch

from csan_mm.analysis.attention_rows import (
    FACTORS,
    KINDS,
    attention_rows,
    centre_row,
    correlation,
    draw,
    entropy,
    measure,
    queries_and_keys,
    sharpness,
    some_rows,
)
from csan_mm.backbones import CBT, HieraCSaN, MAViT, SwinCSaN, ViTCSaN
from csan_mm.mixers.linear import LinearOperator
from csan_mm.mixers.mala import MALAOperator

BLOCKS = {"embed_dims": 16, "depth": 2, "num_heads": 2}
STAGES = {"embed_dims": 16, "depths": (1, 1), "num_heads": (1, 2)}


def heads(N: int = 9, d: int = 4) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return tuple(torch.randn(1, 2, N, d, dtype=torch.double) for _ in range(3))


def test_entropy_of_known_rows():
    assert entropy(torch.tensor([0.0, 0, 1, 0])) == 0
    assert float(entropy(torch.full((8,), 1 / 8))) == pytest.approx(math.log(8))
    assert float(entropy(torch.tensor([0.5, -0.5, 0, 0]))) == pytest.approx(math.log(2))  # by magnitude


@pytest.mark.parametrize("kind", KINDS)
def test_rows_sum_to_one(kind):
    q, k, _ = heads()
    rows = attention_rows(q, k, kind, 3.0)
    torch.testing.assert_close(rows.sum(dim=-1), torch.ones(1, 2, 9, dtype=torch.double))


@pytest.mark.parametrize(("kind", "operator"), [("linear", LinearOperator), ("mala", MALAOperator)])
def test_rows_are_the_operators(kind, operator):
    q, k, v = heads()
    torch.testing.assert_close(attention_rows(q, k, kind) @ v, operator(2, 4)(q, k, v))


def test_softmax_is_torchs():
    q, k, v = heads()
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(attention_rows(q, k, "softmax") @ v, expected)


@pytest.mark.parametrize("kind", ["unit queries", "linear"])
def test_length_is_divided_out(kind):
    q, k, _ = heads()
    torch.testing.assert_close(attention_rows(q, k, kind, 50.0), attention_rows(q, k, kind))


@pytest.mark.parametrize("kind", ["softmax", "mala"])
def test_longer_queries_are_sharper(kind):
    q, k, _ = heads(N=32)
    means = [float(sharpness(attention_rows(q, k, kind, factor)).mean()) for factor in FACTORS]
    assert means == sorted(means)
    assert means[-1] > 1.5 * means[0]


def test_sharpness_of_mala_is_linear_in_the_length():
    """With s_ij the scores of the query as it is: std(A) = std(s) (1/z + length)."""
    q, k, _ = heads()
    one, two, four = (sharpness(attention_rows(q, k, "mala", factor)) for factor in (1, 2, 4))
    torch.testing.assert_close(four - two, 2 * (two - one))
    assert (two > one).all()


def test_sharpness_of_known_rows():
    assert float(sharpness(torch.tensor([0.0, 0, 1, 0]))) == pytest.approx(3**0.5)
    assert sharpness(torch.full((8,), 1 / 8)) == 0


def test_a_short_query_of_mala_is_linear_attention():
    q, k, _ = heads()
    torch.testing.assert_close(attention_rows(q, k, "mala", 1e-4), attention_rows(q, k, "linear"), rtol=0, atol=1e-3)


def test_correlation():
    x = torch.tensor([1.0, 2, 3, 4])
    assert correlation(x, -2 * x + 1) == pytest.approx(-1)
    assert correlation(x, torch.ones(4)) is None


def test_some_rows_reach_from_the_first_to_the_last():
    x = torch.arange(100.0)[:, None]
    assert some_rows(x, 3).flatten().tolist() == [0, 50, 99] or some_rows(x, 3).flatten().tolist() == [0, 49, 99]
    assert len(some_rows(x[:5], 64)) == 5


NETWORKS = {
    "vit-softmax": (lambda: ViTCSaN(BLOCKS, img_size=64, mixer="softmax"), ["softmax"] * 2),
    "vit-unit": (
        lambda: ViTCSaN(BLOCKS, img_size=64, mixer={"type": "softmax", "unit_queries": True}),
        ["unit queries"] * 2,
    ),
    "vit-mala": (lambda: ViTCSaN(BLOCKS, img_size=64, mixer="mala"), ["mala"] * 2),
    "cbt-linear": (lambda: CBT(BLOCKS, img_size=64, mixer="linear"), ["linear"] * 2),
    "swin": (lambda: SwinCSaN(STAGES, out_indices=(0, 1)), ["softmax"] * 2),
    # The second block pools its queries.
    "hiera": (lambda: HieraCSaN({**STAGES, "num_heads": 1}, img_size=64, out_indices=(0, 1)), ["softmax"]),
    "mavit": (
        lambda: MAViT(
            {"embed_dims": (8, 16), "depths": (1, 1), "num_heads": (1, 2)}, ("mala", "softmax"), out_indices=(0, 1)
        ),
        ["mala", "softmax"],
    ),
}


@pytest.mark.parametrize(("build", "kinds"), NETWORKS.values(), ids=NETWORKS)
def test_every_network(build, kinds, tmp_path):
    backbone = build().eval()
    rows, shown = measure(backbone, list(torch.randn(2, 3, 64, 96)))
    assert [row["kind"] for row in rows] == kinds
    assert json.loads(json.dumps(rows)) == rows
    for row in rows:
        assert all(0 < value <= math.log(row["keys"]) + 1e-6 for curve in row["entropy"].values() for value in curve)
        assert all(next_ >= last - 1e-4 for last, next_ in pairwise(row["sharpness"]["mala"]))
    for layer in queries_and_keys(backbone, torch.randn(3, 64, 96)):
        assert centre_row(layer, layer.kind).shape == layer.grid
    draw({"one": shown, "two": shown}, tmp_path / "rows.png")
    assert (tmp_path / "rows.png").stat().st_size > 1000


def test_the_row_of_a_networks_own_token(tmp_path):
    """The middle token of a ViT: the row of its own attention, class token left out."""
    vit = ViTCSaN(BLOCKS, img_size=64, mixer="softmax").eval()
    (layer, _) = queries_and_keys(vit, torch.randn(3, 64, 64))
    full = attention_rows(layer.q, layer.k, "softmax")[0, :, 1 + 2 * 4 + 2].mean(dim=0)
    torch.testing.assert_close(centre_row(layer, "softmax"), full[1:].view(4, 4))


def test_a_network_without_queries_is_refused():
    with pytest.raises(ValueError, match="CBT has no queries and keys here"):
        queries_and_keys(CBT(BLOCKS, img_size=64), torch.randn(3, 64, 64))
    with pytest.raises(ValueError, match="kind='cosine'"):
        attention_rows(*heads()[:2], "cosine")
