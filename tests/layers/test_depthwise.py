"""Depthwise convolution: nn.Conv2d's numbers, and gradients laid out as the weight is."""

import pytest
import torch

from csan_mm.layers.depthwise import DepthwiseConv2d


@pytest.mark.parametrize("kernel_size", [1, 3, 7])
@pytest.mark.parametrize("weight_format", [torch.contiguous_format, torch.channels_last], ids=str)
@pytest.mark.parametrize("map_format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_numbers_of_conv2d_and_strides_of_the_weight(kernel_size, weight_format, map_format):
    plain = torch.nn.Conv2d(8, 8, kernel_size, padding=kernel_size // 2, groups=8)
    layer = DepthwiseConv2d(8, kernel_size)
    layer.load_state_dict(plain.state_dict())
    layer.to(memory_format=weight_format)
    x = torch.randn(2, 8, 9, 11).contiguous(memory_format=map_format)
    y, expected = layer(x), plain(x)
    torch.testing.assert_close(y, expected)
    y.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(layer.weight.grad, plain.weight.grad)
    torch.testing.assert_close(layer.bias.grad, plain.bias.grad)
    assert layer.weight.grad.stride() == layer.weight.stride()
