"""Focal losses against their formula and autograd."""

import pytest
import torch
from mmcv.ops import SigmoidFocalLoss, sigmoid_focal_loss, softmax_focal_loss
from mmdet.models.losses import focal_loss as mmdet_losses

C = 5
TARGET = torch.tensor([0, 3, C, 4, 2, C, 3])  # C is the background
WEIGHT = torch.tensor([0.5, 1.0, 2.0, 0.25, 3.0], dtype=torch.float64)


def sigmoid_formula(logits, target, gamma, alpha, weight=None):
    p = logits.sigmoid()
    truth = torch.nn.functional.one_hot(target, C + 1)[:, :C].bool()
    loss = torch.where(truth, -alpha * (1 - p) ** gamma * torch.log(p), -(1 - alpha) * p**gamma * torch.log(1 - p))
    return loss if weight is None else loss * torch.cat((weight, weight.new_ones(1)))[target][:, None]


def softmax_formula(logits, target, gamma, alpha, weight=None):
    q = logits.softmax(1).gather(1, target.clamp(min=0)[:, None])[:, 0]
    loss = -alpha * (1 - q) ** gamma * torch.log(q) * (target >= 0)
    return loss if weight is None else loss * weight[target.clamp(min=0)]


def logits(rows: int = 7) -> torch.Tensor:
    return (2 * torch.randn(rows, C, dtype=torch.float64)).requires_grad_()


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize(("gamma", "alpha"), [(2.0, 0.25), (0.0, 0.5), (0.5, 0.7)])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_sigmoid_loss_and_gradient_equal_the_formula(reduction, gamma, alpha, weight):
    x = logits()
    loss = sigmoid_focal_loss(x, TARGET, gamma, alpha, weight, reduction)
    expected = sigmoid_formula(x, TARGET, gamma, alpha, weight)
    expected = {"none": expected, "mean": expected.sum() / len(x), "sum": expected.sum()}[reduction]
    torch.testing.assert_close(loss, expected)
    upstream = torch.rand_like(loss)
    torch.testing.assert_close(torch.autograd.grad(loss, x, upstream), torch.autograd.grad(expected, x, upstream))


def test_sigmoid_gradcheck():
    assert torch.autograd.gradcheck(lambda x: sigmoid_focal_loss(x, TARGET, 2.0, 0.25, WEIGHT, "none"), logits())


def test_what_retinanet_takes_on_a_gpu_equals_what_it_takes_on_a_cpu():
    x = logits()
    of_gpu = mmdet_losses.sigmoid_focal_loss(x, TARGET, avg_factor=3)
    truth = torch.nn.functional.one_hot(TARGET, C + 1)[:, :C]
    of_cpu = mmdet_losses.py_sigmoid_focal_loss(x, truth, avg_factor=3)
    torch.testing.assert_close(of_gpu, of_cpu)
    torch.testing.assert_close(torch.autograd.grad(of_gpu, x), torch.autograd.grad(of_cpu, x))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize(("gamma", "alpha"), [(2.0, 0.25), (0.0, 0.5), (0.5, 0.7)])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_softmax_loss_and_gradient_equal_the_formula(reduction, gamma, alpha, weight):
    x, target = logits(), torch.tensor([0, 3, -1, 4, 2, 1, 3])
    loss = softmax_focal_loss(x, target, gamma, alpha, weight, reduction)
    expected = softmax_formula(x, target, gamma, alpha, weight).sum() / (len(x) if reduction == "mean" else 1)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(torch.autograd.grad(loss, x), torch.autograd.grad(expected, x))


@pytest.mark.parametrize("loss", [sigmoid_focal_loss, softmax_focal_loss], ids=["sigmoid", "softmax"])
@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_extreme_logits_stay_finite(loss, gamma):
    x = torch.tensor([[200.0, -200.0, 0.0], [-200.0, 200.0, 0.0]], requires_grad=True)
    value = loss(x, torch.tensor([0, 0]), gamma, 0.25, None, "sum")
    (grad,) = torch.autograd.grad(value, x)
    assert value.isfinite()
    assert grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("loss", [sigmoid_focal_loss, softmax_focal_loss], ids=["sigmoid", "softmax"])
def test_half_precision(loss, dtype):
    x = logits().detach().to(dtype).requires_grad_()
    target = TARGET % C
    value = loss(x, target, 2.0, 0.25, None, "sum")
    (grad,) = torch.autograd.grad(value, x)
    wide = x.detach().float().requires_grad_()
    wanted = loss(wide, target, 2.0, 0.25, None, "sum")
    assert value.dtype == grad.dtype == dtype
    torch.testing.assert_close(value.float(), wanted, atol=0, rtol=0.02)
    torch.testing.assert_close(grad.float(), torch.autograd.grad(wanted, wide)[0], atol=0.02, rtol=0.02)


def test_module_without_rows():
    x = logits(0)
    loss = SigmoidFocalLoss(2.0, 0.25, reduction="sum")(x, torch.zeros(0, dtype=torch.long))
    assert loss == 0
    assert torch.autograd.grad(loss, x)[0].shape == (0, C)


@pytest.mark.parametrize(("loss", "highest"), [(sigmoid_focal_loss, C), (softmax_focal_loss, C - 1)])
def test_label_beyond_the_classes(loss, highest):
    with pytest.raises(ValueError, match=f"target: labels up to {highest} .* got {highest + 1}"):
        loss(logits(1), torch.tensor([highest + 1]), 2.0, 0.25, None, "sum")
