"""WeightFormer's files: .pth with `model`, raw .safetensors, B into S, pyramid and gains as expected differences."""

import pytest
import safetensors.torch
import torch
from golden import read_golden
from mmengine.registry import MODELS

from csan_mm.backbones import WeightFormer
from csan_mm.checkpoint import CheckpointError, convert_state_dict, guess_source, load_file

ARCH = {"embed_dims": 16, "depth": 5}


def official(arch: str | dict = ARCH) -> dict[str, torch.Tensor]:
    """A classifier's weights under the authors' names."""
    model = WeightFormer(arch)
    return {**model.state_dict(), "head.weight": torch.zeros(10, model.embed_dims), "head.bias": torch.zeros(10)}


def backbone(path, **options) -> torch.nn.Module:
    init_cfg = {"type": "csan_mm.Pretrained", "checkpoint": str(path), "source": "weightformer"}
    model = MODELS.build({"type": "csan_mm.WeightFormer", "arch": ARCH, **options, "init_cfg": init_cfg})
    model.init_weights()
    return model


@pytest.fixture(params=["pth", "safetensors"])
def file(request, tmp_path):
    state, path = official(), tmp_path / f"weightformer.{request.param}"
    if request.param == "pth":
        torch.save({"model": state, "epoch": 299}, path)
    else:
        safetensors.torch.save_file(state, path)
    return path


def test_reads_both_kinds_of_file(file):
    state = load_file(file)
    assert guess_source(state) == "weightformer"
    loaded = backbone(file).state_dict()
    assert set(loaded) == {name for name in state if not name.startswith("head.")}
    assert all(torch.equal(loaded[name], state[name]) for name in loaded)


def test_pyramid_and_gains_keep_their_start(file):
    model = backbone(file, out_type="pyramid", out_indices=(1, 2, 3, 4), layer_scale=0.25)
    assert torch.equal(model.blocks[4].linear1.w1, load_file(file)["blocks.4.linear1.w1"])
    assert (model.blocks[4].linear1.gain == 0.25).all()


def test_the_448_pixel_base_is_small(tmp_path):
    small, base = (convert_state_dict(official(arch), "weightformer") for arch in ("small", "base"))
    assert {name: value.shape for name, value in small.items()} == {name: value.shape for name, value in base.items()}


def test_another_depth_is_refused_with_the_arch_it_is(tmp_path):
    path = tmp_path / "tiny.safetensors"
    safetensors.torch.save_file(official({"embed_dims": 16, "depth": 9}), path)
    with pytest.raises(CheckpointError, match=r"dict\(embed_dims=16, depth=9\)"):
        backbone(path)


def test_a_period_other_than_the_files_is_refused(file):
    with pytest.raises(CheckpointError, match=r"blocks\.\d\.linear1"):
        backbone(file, dynamic=2)


def test_golden_file_is_recognised(golden_dir):
    state = read_golden(golden_dir, "weightformer").state
    assert guess_source(state) == "weightformer"
    assert set(state) - set(convert_state_dict(state, "weightformer")) == {"head.weight", "head.bias"}
