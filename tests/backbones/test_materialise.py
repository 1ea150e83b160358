"""Networks made on the meta device, given memory, and loaded: how FSDP jobs start."""

import math
from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
from mmengine.registry import MODELS
from test_contract import BACKBONES, backbones, build
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

#: What memory without values may hold; as an index it is out of every range.
GARBAGE = 2**30 + 1

#: Of the parts that are no backbones.
PARTS = {
    "simple-fpn": {"type": "csan_mm.SimpleFPN", "in_channels": 16},
    "mavit-neck": {"type": "csan_mm.MAViTNeck", "in_channels": 16, "out_channels": 24},
    "cbt-head": {"type": "csan_mm.CBTHead", "in_channels": 16, "num_classes": 4},
}


def on_meta(cfg: dict) -> nn.Module:
    with torch.device("meta"):
        return build(cfg) if cfg in BACKBONES.values() else MODELS.build(dict(cfg))


def poisoned(model: nn.Module) -> nn.Module:
    """The model in memory without values, which is made to hold the worst."""
    model = model.to_empty(device="cpu")
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.detach().fill_(math.nan if tensor.is_floating_point() else GARBAGE)
    return model.eval()


def trained(cfg: dict) -> nn.Module:
    """Every weight and buffer away from its start."""
    model = build(cfg).eval()
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():
            tensor.mul_(1 + 0.1 * torch.rand_like(tensor))
    return model


def maps(model: nn.Module, image: Tensor) -> list[Tensor]:
    with torch.no_grad():
        return list(model(image))


@backbones
def test_loaded_after_to_empty(cfg):
    model, image = trained(cfg), torch.randn(1, 3, 40, 72)
    copy = poisoned(on_meta(cfg))
    copy.load_state_dict(model.state_dict())
    torch.testing.assert_close(maps(copy, image), maps(model, image), rtol=0, atol=0)


@backbones
def test_loaded_by_assignment(cfg):
    """What the file does not have stays on the meta device."""
    model, image = trained(cfg), torch.randn(1, 3, 40, 72)
    copy = on_meta(cfg).eval()
    copy.load_state_dict(model.state_dict(), assign=True)
    torch.testing.assert_close(maps(copy, image), maps(model, image), rtol=0, atol=0)


@pytest.fixture
def one_process() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@backbones
@pytest.mark.usefixtures("one_process")
def test_sharded_then_loaded(cfg):
    """FSDP's order: meta device, fully_shard, to_empty, a whole state dict."""
    model, image = trained(cfg), torch.randn(1, 3, 40, 72)
    copy = fully_shard(on_meta(cfg), mesh=init_device_mesh("cpu", (1,)))
    poisoned(copy)
    set_model_state_dict(copy, model.state_dict(), options=StateDictOptions(full_state_dict=True))
    torch.testing.assert_close(maps(copy, image), maps(model, image), rtol=0, atol=0)


@pytest.mark.parametrize("cfg", [*BACKBONES.values(), *PARTS.values()], ids=[*BACKBONES, *PARTS])
def test_no_buffer_is_left_out_of_the_file(cfg):
    model = on_meta(cfg)
    assert {name for name, _ in model.named_buffers()} <= set(model.state_dict())


@backbones
def test_in_other_types(cfg):
    """Constants follow the weights and the image, and are not rounded on the way."""
    model, image = trained(cfg), torch.randn(1, 3, 40, 72)
    expected = maps(model, image)
    double = maps(model.double(), image.double())
    again = maps(model.float(), image)
    half = maps(model.to(torch.bfloat16), image.to(torch.bfloat16))
    for i, want in enumerate(expected):
        scale = want.abs().max().item()
        assert double[i].dtype == torch.float64
        torch.testing.assert_close(double[i].float(), want, rtol=0, atol=1e-3 * scale)
        assert torch.equal(again[i], want)
        assert half[i].dtype == torch.bfloat16
        assert half[i].isfinite().all()
