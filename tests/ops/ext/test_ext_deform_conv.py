"""Deformable convolutions against bilinear sampling by ``grid_sample`` and a product with the weights."""

import math

import pytest
import torch
import torch.nn.functional as F
from mmcv.ops import DeformConv2dPack, ModulatedDeformConv2dPack, deform_conv2d, modulated_deform_conv2d

GEOMETRIES = {
    "plain": {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1, "deform_groups": 1},
    "stride-padding-dilation": {
        "stride": (2, 1),
        "padding": (0, 3),
        "dilation": (1, 2),
        "groups": 1,
        "deform_groups": 1,
    },
    "groups": {"stride": (1, 2), "padding": (2, 1), "dilation": (2, 1), "groups": 2, "deform_groups": 1},
    "deform-groups": {"stride": (1, 1), "padding": (1, 0), "dilation": (1, 1), "groups": 1, "deform_groups": 4},
    "both": {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "groups": 2, "deform_groups": 2},
}
KERNEL = (3, 2)


def tensors(geometry: dict, batch: int = 2, size=(6, 7)) -> dict[str, torch.Tensor]:
    d, (kh, kw) = geometry["deform_groups"], KERNEL
    out = [
        (n + 2 * p - dil * (k - 1) - 1) // s + 1
        for n, k, s, p, dil in zip(size, KERNEL, geometry["stride"], geometry["padding"], geometry["dilation"])
    ]
    made = {
        "input": torch.randn(batch, 4, *size),
        "offset": 1.5 * torch.randn(batch, 2 * d * kh * kw, *out),
        "mask": torch.rand(batch, d * kh * kw, *out),
        "weight": torch.randn(6, 4 // geometry["groups"], kh, kw),
        "bias": torch.randn(6),
    }
    return {name: tensor.double().requires_grad_() for name, tensor in made.items()}


def naive(input, offset, mask, weight, bias, stride, padding, dilation, groups, deform_groups):
    (N, C, H, W), (kh, kw) = input.shape, weight.shape[2:]
    rows, cols = offset.shape[2:]
    offset = offset.view(N, deform_groups, kh * kw, 2, rows, cols)
    y0 = (torch.arange(rows) * stride[0] - padding[0]).to(input)[:, None]
    x0 = (torch.arange(cols) * stride[1] - padding[1]).to(input)
    columns = []
    for g, part in enumerate(input.chunk(deform_groups, 1)):
        for tap in range(kh * kw):
            y = y0 + tap // kw * dilation[0] + offset[:, g, tap, 0]  # (N, H', W')
            x = x0 + tap % kw * dilation[1] + offset[:, g, tap, 1]
            grid = torch.stack((2 * x / (W - 1) - 1, 2 * y / (H - 1) - 1), -1)
            sampled = F.grid_sample(part, grid, padding_mode="zeros", align_corners=True)
            columns.append(sampled if mask is None else sampled * mask[:, g * kh * kw + tap, None])
    columns = torch.stack(columns).view(deform_groups, kh * kw, N, C // deform_groups, rows, cols)
    columns = columns.permute(2, 0, 3, 1, 4, 5).reshape(N, groups, C // groups, kh * kw, rows, cols)
    weight = weight.view(groups, -1, C // groups, kh * kw)
    out = torch.einsum("ngckhw,gock->ngohw", columns, weight).reshape(N, -1, rows, cols)
    return out if bias is None else out + bias[:, None, None]


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
def test_v1_and_its_gradients_equal_sampling(geometry):
    t = tensors(geometry)
    inputs = [t["input"], t["offset"], t["weight"]]
    out = deform_conv2d(*inputs, *geometry.values())
    expected = naive(t["input"], t["offset"], None, t["weight"], None, **geometry)
    torch.testing.assert_close(out, expected)
    grad = torch.randn_like(out)
    torch.testing.assert_close(torch.autograd.grad(out, inputs, grad), torch.autograd.grad(expected, inputs, grad))


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
def test_v2_and_its_gradients_equal_sampling(geometry, bias):
    t = tensors(geometry)
    inputs = [t["input"], t["offset"], t["mask"], t["weight"], *([t["bias"]] if bias else [])]
    out = modulated_deform_conv2d(*inputs, *([] if bias else [None]), *geometry.values())
    expected = naive(*inputs, *([] if bias else [None]), **geometry)
    torch.testing.assert_close(out, expected)
    grad = torch.randn_like(out)
    torch.testing.assert_close(torch.autograd.grad(out, inputs, grad), torch.autograd.grad(expected, inputs, grad))


def test_gradcheck():
    geometry = GEOMETRIES["both"]
    t = tensors(geometry, batch=1, size=(4, 4))
    v1, v2 = [t["input"], t["offset"], t["weight"]], list(t.values())
    assert torch.autograd.gradcheck(lambda *x: deform_conv2d(*x, *geometry.values()), v1)
    assert torch.autograd.gradcheck(lambda *x: modulated_deform_conv2d(*x, *geometry.values()), v2)


def test_only_the_weight_is_trained():
    geometry = GEOMETRIES["plain"]
    t = tensors(geometry)
    out = deform_conv2d(t["input"].detach(), t["offset"].detach(), t["weight"], *geometry.values())
    expected = naive(t["input"], t["offset"], None, t["weight"], None, **geometry)
    wanted = torch.autograd.grad(expected.sum(), t["weight"])
    torch.testing.assert_close(torch.autograd.grad(out.sum(), t["weight"]), wanted)


@pytest.mark.parametrize("im2col_step", [1, 2, 32])
def test_batch_split_changes_nothing(im2col_step):
    geometry = GEOMETRIES["plain"]
    t = tensors(geometry, batch=4)
    out = deform_conv2d(t["input"], t["offset"], t["weight"], *geometry.values(), False, im2col_step)
    torch.testing.assert_close(out, naive(t["input"], t["offset"], None, t["weight"], None, **geometry))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", [DeformConv2dPack, ModulatedDeformConv2dPack], ids=["v1", "v2"])
def test_autocast(kind, dtype):
    module = kind(4, 6, 3, padding=1)
    torch.nn.init.normal_(module.conv_offset.weight, std=0.1)
    x = torch.randn(2, 4, 6, 7)
    with torch.autocast("cpu", dtype):
        out = module(x)
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), module(x), atol=0.1, rtol=0.05)
    out.float().sum().backward()
    assert all(p.grad.isfinite().all() and p.grad.any() for p in module.parameters())


@pytest.mark.parametrize("kind", [DeformConv2dPack, ModulatedDeformConv2dPack], ids=["v1", "v2"])
def test_exports(kind):
    module = kind(4, 6, 3, padding=1).eval()
    torch.nn.init.normal_(module.conv_offset.weight, std=0.1)
    program = torch.export.export(module, (torch.randn(2, 4, 6, 7),))
    x = torch.randn(2, 4, 6, 7)
    torch.testing.assert_close(program.module()(x), module(x))


def test_without_offset_it_is_a_convolution():
    module = ModulatedDeformConv2dPack(4, 6, 3, padding=1)  # starts with offset 0 and mask 1/2
    x = torch.randn(2, 4, 5, 6)
    torch.testing.assert_close(module(x), F.conv2d(x, module.weight / 2, module.bias, padding=1))


def test_offset_for_another_number_of_deform_groups():
    geometry = GEOMETRIES["deform-groups"]
    t = tensors(GEOMETRIES["plain"])
    with pytest.raises(RuntimeError, match="offset"):
        deform_conv2d(t["input"], t["offset"], t["weight"], *geometry.values())


def read_flat(values: torch.Tensor, channels: int, size: tuple[int, int]) -> torch.Tensor:
    """What the compiled operator takes for the (channels, H', W') values of each sample."""
    rows, columns = size
    return torch.stack([sample.reshape(-1)[: channels * rows * columns] for sample in values]).view(
        -1, channels, rows, columns
    )


@pytest.mark.parametrize("size", [(12, 14), (6, 15), (13, 5)], ids=str)
def test_larger_offset_and_mask_are_read_from_the_start_of_each_sample(size):
    geometry, taps = GEOMETRIES["plain"], KERNEL[0] * KERNEL[1]
    t = tensors(geometry)  # input of 6 x 7, output of 6 x 8
    t["offset"] = (1.5 * torch.randn(2, 2 * taps + 3, *size).double()).requires_grad_()
    t["mask"] = torch.rand(2, taps, *size).double().requires_grad_()
    offset = t["offset"][:, : 2 * taps]  # as DyHead's, a slice that is not contiguous
    out = modulated_deform_conv2d(t["input"], offset, *list(t.values())[2:], *geometry.values())
    flat = read_flat(offset, 2 * taps, (6, 8)), read_flat(t["mask"], taps, (6, 8))
    expected = naive(t["input"], *flat, t["weight"], t["bias"], **geometry)
    torch.testing.assert_close(out, expected)
    grad, inputs = torch.randn_like(out), list(t.values())
    torch.testing.assert_close(torch.autograd.grad(out, inputs, grad), torch.autograd.grad(expected, inputs, grad))


def test_offset_and_mask_with_too_few_values():
    t = tensors(GEOMETRIES["plain"])
    with pytest.raises(RuntimeError, match="offset"):
        modulated_deform_conv2d(t["input"], t["offset"][:, :, :2], t["mask"], t["weight"], t["bias"], 1, 1)


def test_dyhead(monkeypatch):
    """mmdet's neck hands the next finer level's offset and mask to a convolution of half their size."""
    from mmdet.models.necks import dyhead

    neck = dyhead.DyHead(16, 16, num_blocks=2, zero_init_offset=False).eval()
    levels = [torch.randn(1, 16, *size) for size in ((14, 10), (7, 5), (4, 3))]
    with torch.no_grad():
        outputs = neck(levels)

    def forward(conv, x, offset, mask):
        size = tuple((side - 1) // stride + 1 for side, stride in zip(x.shape[2:], conv.stride))
        flat = read_flat(offset, 18, size), read_flat(mask, 9, size)
        options = {"padding": conv.padding, "dilation": conv.dilation, "groups": 1, "deform_groups": 1}
        return naive(x, *flat, conv.weight, conv.bias, stride=conv.stride, **options)

    monkeypatch.setattr(dyhead.ModulatedDeformConv2d, "forward", forward)
    with torch.no_grad():
        expected = neck(levels)
    for output, wanted in zip(outputs, expected, strict=True):
        torch.testing.assert_close(output, wanted, rtol=1e-4, atol=1e-5)


def value_at(image: torch.Tensor, y: float, x: float) -> float:
    """Bilinear between the pixels of (H, W), zeros around them."""
    total, (H, W) = 0.0, image.shape
    for row in (math.floor(y), math.floor(y) + 1):
        for column in (math.floor(x), math.floor(x) + 1):
            if 0 <= row < H and 0 <= column < W:
                total += image[row, column].item() * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


@pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])
@pytest.mark.parametrize("whole", [0, 2], ids=["start", "whole-steps"])
def test_points_one_pixel_outside_give_no_gradient_to_their_offset(version, whole):
    """Offsets of whole pixels: inside, the slope towards larger coordinates; outside, the edge of -1 included, nothing."""
    geometry = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 1, "deform_groups": 2}
    t = tensors(geometry, batch=1, size=(5, 4))
    offset = torch.randint(-whole, whole + 1, t["offset"].shape).double().requires_grad_()
    inputs = (t["input"], offset, t["weight"]) if version == 1 else (t["input"], offset, *list(t.values())[2:])
    out = (deform_conv2d if version == 1 else modulated_deform_conv2d)(*inputs, *geometry.values())
    grad = torch.randn_like(out)
    (by_offset,) = torch.autograd.grad(out, offset, grad)
    step, on_the_edge = 1e-6, 0
    for g in range(2):
        for tap in range(KERNEL[0] * KERNEL[1]):
            for i in range(out.shape[2]):
                for j in range(out.shape[3]):
                    channel = 2 * (g * KERNEL[0] * KERNEL[1] + tap)
                    y = 2 * i - 1 + tap // KERNEL[1] + offset[0, channel, i, j].item()
                    x = j - 2 + 2 * (tap % KERNEL[1]) + offset[0, channel + 1, i, j].item()
                    on_the_edge += y == -1 or x == -1
                    for axis, (dy, dx) in enumerate(((step, 0), (0, step))):
                        expected = 0.0
                        if -1 < y < 5 and -1 < x < 4:
                            for c in (2 * g, 2 * g + 1):
                                image = t["input"][0, c]
                                slope = (value_at(image, y + dy, x + dx) - value_at(image, y, x)) / step
                                kernel = t["weight"][:, c, tap // KERNEL[1], tap % KERNEL[1]]
                                expected += slope * (grad[0, :, i, j] @ kernel).item()
                            if version == 2:
                                expected *= t["mask"][0, channel // 2, i, j].item()
                        assert by_offset[0, channel + axis, i, j].item() == pytest.approx(expected, abs=1e-6)
    assert on_the_edge > 10
