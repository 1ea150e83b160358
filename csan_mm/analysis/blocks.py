"""What the mixers of a backbone get, block by block, and where on the map their tokens lie."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from csan_mm.analysis.inference_path import replaced
from csan_mm.backbones.base import DenseBackbone
from csan_mm.backbones.hiera import HieraBlock
from csan_mm.backbones.swin import SwinBlock, attend
from csan_mm.backbones.vit import ViTBlock
from csan_mm.mixers.base import TokenMixer


class MixerCall(NamedTuple):
    """One call of a block's mixer.

    Attributes:
        name: The mixer's name in the backbone, such as 'blocks.3.attn'.
        mixer: The mixer.
        block: The block it stands in.
        x: What the block hands to it: a map (B, H, W, C) of Swin and Hiera, tokens (B, N, C) of the others.
        grid: What the block knows of the places: Swin's windows, else the (H, W) of the patches; nothing in Hiera.
    """

    name: str
    mixer: TokenMixer
    block: nn.Module
    x: Tensor
    grid: Any


def mixer_calls(backbone: DenseBackbone, image: Tensor) -> list[MixerCall]:
    """Run a backbone on one image and keep what its mixers got, in the order of the calls.

    A block hands norm1's output to ``attn``, and norm2's to ``attn2`` where that stands in place of an MLP.

    Args:
        backbone: Of Swin, ViT, Hiera or CBT.
        image: (3, H, W), normalised.
    """
    calls: list[MixerCall] = []
    handles = []
    for name, block in backbone.named_modules():
        for part, norm in (("attn", "norm1"), ("attn2", "norm2")):
            mixer = getattr(block, part, None)
            if isinstance(mixer, TokenMixer):
                handles += _listen(f"{name}.{part}", mixer, block, getattr(block, norm), calls)
    try:
        backbone(image[None])
    finally:
        for handle in handles:
            handle.remove()
    return calls


def _listen(
    name: str, mixer: TokenMixer, block: nn.Module, norm: nn.Module, calls: list[MixerCall]
) -> Iterator[torch.utils.hooks.RemovableHandle]:
    grids: list[Any] = []

    def entered(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        grids[:] = [inputs[1] if len(inputs) > 1 else None]

    def normed(_: nn.Module, __: tuple[Any, ...], output: Tensor) -> None:
        calls.append(MixerCall(name, mixer, block, output, grids[0]))

    yield block.register_forward_pre_hook(entered)
    yield norm.register_forward_hook(normed)


def on_map(call: MixerCall, probe: nn.Module) -> Tensor:
    """What a probe says of each token, in the tokens' places: (B, H', W', C'), H' x W' queries.

    Args:
        call: What the mixer got.
        probe: Called as the mixer is, ``probe(tokens, grid, mask)`` -> (B, n, C').
    """
    block, x, grid = call.block, call.x, call.grid
    if isinstance(block, SwinBlock):
        return attend(probe, None, x, grid)
    if isinstance(block, HieraBlock):
        with replaced(block, "attn", probe):
            return block.attend(x)
    y = block.attend(probe, x, grid) if isinstance(block, ViTBlock) else probe(x, grid)
    return y[:, y.shape[1] - grid[0] * grid[1] :].unflatten(1, grid)
