"""The budget dilemma: columns whose answer is known, and gradients against autograd."""

import json
import math

import pytest
import torch

from csan_mm.analysis import budget
from csan_mm.analysis.budget import Columns, count_columns, is_compatible, measure, private_share, random_projection
from csan_mm.backbones import CBT, HieraCSaN, SwinCSaN, ViTCSaN

BLOCKS = {"embed_dims": 16, "depth": 2, "num_heads": 2}


def test_opposite_rows_are_incompatible():
    g = torch.tensor([[1.0, 2.0, -1.0]])
    assert not is_compatible(torch.cat([g, -3 * g]))
    assert is_compatible(torch.cat([g, 3 * g]))
    assert is_compatible(torch.cat([g, torch.zeros_like(g)]))  # a row of length 0 asks for nothing
    assert is_compatible(torch.zeros(2, 3))


def test_independent_rows_are_compatible():
    assert is_compatible(torch.eye(5))
    assert not is_compatible(torch.cat([torch.eye(2), torch.full((1, 2), -1.0)]))  # they surround the origin


def test_in_the_plane_it_is_a_question_of_the_largest_gap():
    """Unit vectors fit into an open half-plane where the widest gap between neighbouring angles is above 180 degrees."""
    generator = torch.Generator().manual_seed(1)
    answers = []
    for count in range(2, 8):
        for _ in range(20):
            angles = (torch.rand(count, generator=generator, dtype=torch.double) * 2 * math.pi).sort().values
            gaps = torch.cat([angles[1:] - angles[:-1], angles[:1] + 2 * math.pi - angles[-1:]])
            rows = torch.stack([angles.cos(), angles.sin()], dim=1)
            answers.append(bool(gaps.max() > math.pi))
            assert is_compatible(rows) == answers[-1]
    assert 20 < sum(answers) < 100  # both answers occur often


def test_random_rows_are_as_often_compatible_as_cover_counts():
    """n random directions in d dimensions lie in a half-space with the probability 2^(1-n) sum_{k<d} C(n-1, k)."""
    generator, n, d, trials = torch.Generator().manual_seed(4), 12, 6, 300
    found = sum(is_compatible(torch.randn(n, d, generator=generator, dtype=torch.double)) for _ in range(trials))
    expected = sum(math.comb(n - 1, k) for k in range(d)) / 2 ** (n - 1)
    assert abs(found / trials - expected) < 4 * (expected * (1 - expected) / trials) ** 0.5


def test_the_length_of_a_row_does_not_matter():
    rows = torch.randn(6, 4, dtype=torch.double)
    scaled = rows * torch.logspace(-6, 6, 6, dtype=torch.double)[:, None]
    assert is_compatible(rows) == is_compatible(scaled)


def test_columns_count_the_rows_that_attend():
    attention = torch.tensor([[0.9, 0.05, 0.05], [0.9, 0.05, 0.05], [0.0, 0.5, 0.5]])
    gradients = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    assert count_columns(attention, gradients, 3, above=1) == Columns(incompatible=1, tested=3, rows=4)
    assert count_columns(attention, gradients, 3) == Columns(
        incompatible=3, tested=3, rows=8
    )  # row 2 leaves column 0 alone
    assert count_columns(attention.new_full((3, 3), 1 / 3), gradients, 3, above=1) == Columns(0, 0, 0)


def test_private_share():
    one, none = torch.ones(2, 3), torch.zeros(2, 3)
    assert private_share(one, none) == 0
    assert private_share(none, one) == 1
    assert private_share(3 * one, one) == pytest.approx(0.25)
    assert private_share(none, none) == 0


@pytest.mark.parametrize("mixer", ["csan", "softmax"])
def test_gradients_are_autograds(mixer):
    """What is measured at a mixer's last projection, against autograd through the whole network from a changed value there."""
    backbone = ViTCSaN(BLOCKS, img_size=32, mixer=mixer).double().eval()
    image = torch.randn(3, 32, 32, dtype=torch.double)
    gradients = {name: gradient for name, _, _, _, gradient in budget._row_gradients(backbone, image, seed=3)}
    shift = torch.zeros(1, 5, 16, dtype=torch.double, requires_grad=True)
    handle = backbone.blocks[0].attn.proj.register_forward_pre_hook(lambda _, inputs: (inputs[0] + shift,))
    (expected,) = torch.autograd.grad(random_projection(backbone(image[None]), 3), shift)
    handle.remove()
    torch.testing.assert_close(gradients["blocks.0.attn"], expected)
    assert expected.abs().max() > 1e-6
    assert all(parameter.grad is None for parameter in backbone.parameters())


def test_values_get_their_gradient_by_the_two_paths_of_the_share():
    """CSaN's dL/dv is what the two paths give, so their sum must be autograd's."""
    attn = ViTCSaN(BLOCKS, img_size=32).double().blocks[0].attn
    x = torch.randn(1, 5, 16, dtype=torch.double)
    trace = attn.trace(x)
    v = trace.v.detach().requires_grad_()
    attention = (trace.tau * (trace.q @ trace.k.transpose(-2, -1))).softmax(dim=-1)
    y = (attention @ (trace.mu * v)) * trace.kpub + v * trace.kpriv
    g = torch.randn_like(y)
    (expected,) = torch.autograd.grad(y, v, g)
    public = trace.mu * (attention.transpose(-2, -1) @ (trace.kpub * g))
    torch.testing.assert_close(public + trace.kpriv * g, expected)


NETWORKS = {
    "vit-csan": (lambda: ViTCSaN(BLOCKS, img_size=32), True),
    "vit-softmax": (lambda: ViTCSaN(BLOCKS, img_size=32, mixer="softmax"), False),
    "swin": (
        lambda: SwinCSaN({"embed_dims": 16, "depths": (2,), "num_heads": (2,)}, window_size=4, out_indices=(0,)),
        True,
    ),
}


@pytest.mark.parametrize(("build", "private"), NETWORKS.values(), ids=NETWORKS)
def test_networks(build, private, tmp_path):
    backbone = build().eval()
    rows, shown = measure(backbone, list(torch.randn(2, 3, 32, 48)), most=3)
    assert [row["layer"] for row in rows] == sorted(row["layer"] for row in rows)
    assert len(rows) == 2
    for row in rows:
        assert 0 <= row["incompatible, rows above the mean"] <= row["incompatible"] <= 1
        assert row["columns"] > 0
        assert row["rows per column"] >= 1
        assert (row["private share"] is not None and 0 < row["private share"] < 1) == private
    assert json.loads(json.dumps(rows)) == rows
    assert measure(backbone, list(torch.zeros(1, 3, 32, 48)), most=1)[0][0]["columns"] >= 0
    budget.draw({"one": shown}, tmp_path / "budget.png")
    assert (tmp_path / "budget.png").stat().st_size > 1000


def test_the_seed_is_the_loss():
    backbone, images = ViTCSaN(BLOCKS, img_size=32).eval(), [torch.randn(3, 32, 32)]
    one, same, other = (measure(backbone, images, seed, 4)[0] for seed in (0, 0, 1))
    assert one == same != other


def test_networks_without_such_attention_are_refused():
    with pytest.raises(ValueError, match="CBT has no attention to test here"):
        measure(CBT(BLOCKS, img_size=32).eval(), [torch.randn(3, 32, 32)])


def test_layers_that_pool_queries_are_left_out():
    hiera = HieraCSaN({"embed_dims": 16, "depths": (1, 2), "num_heads": 1}, img_size=64, out_indices=(0, 1)).eval()
    rows, _ = measure(hiera, [torch.randn(3, 64, 64)], most=1)
    assert [row["layer"] for row in rows] == ["blocks.0.attn", "blocks.2.attn"]
