"""Conversion of Swin files, on values: where the down-sampling stands and how it orders its cells."""

import subprocess
import sys

import pytest
import timm
import torch

from csan_mm.backbones import SwinCSaN
from csan_mm.checkpoint import CheckpointError, convert_state_dict, guess_source, load_file
from csan_mm.checkpoint.swin import cells_from_unfold, cells_to_unfold

ARCH = {"embed_dims": 16, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 4, 4)}


def microsoft_file() -> dict[str, torch.Tensor]:
    """What Microsoft's saver would write for the small plain Swin: down-sampling at the end of a stage, norm, head, buffers."""
    ours = SwinCSaN(ARCH, mixer="softmax", out_indices=(3,)).state_dict()
    state = {}
    for name, value in ours.items():
        if ".downsample." in name:
            stage = int(name.split(".")[1])
            name = name.replace(f"layers.{stage}.", f"layers.{stage - 1}.")
        state[name.replace("norm3.", "norm.")] = value
    state["layers.0.blocks.0.attn.relative_position_index"] = torch.zeros(49, 49)
    state["layers.0.blocks.1.attn_mask"] = torch.zeros(64, 49, 49)
    return {**state, "head.weight": torch.zeros(10, 128), "head.bias": torch.zeros(10)}


def test_unfold_order_is_mmcvs_and_both_directions_are_inverse():
    """One weight per cell and channel: mmcv's unfolding and Swin's concatenation see the same values."""
    x = torch.randn(1, 3, 4, 6)  # (B, C, H, W)
    unfolded = torch.nn.Unfold(2, stride=2)(x).transpose(1, 2)  # (B, L, 4C), channels outside, then row, column
    cells = [x[:, :, row::2, column::2].flatten(2).transpose(1, 2) for row, column in [(0, 0), (1, 0), (0, 1), (1, 1)]]
    concatenated = torch.cat(cells, dim=-1)  # top-left, bottom-left, top-right, bottom-right
    assert torch.equal(cells_from_unfold(unfolded), concatenated)
    assert torch.equal(cells_to_unfold(concatenated), unfolded)
    weight = torch.randn(5, 12)
    assert torch.equal(cells_to_unfold(cells_from_unfold(weight)), weight)
    torch.testing.assert_close(unfolded @ weight.T, concatenated @ cells_from_unfold(weight).T)


@pytest.mark.parametrize("source", ["ms-swin", "timm-swin"])
def test_downsampling_at_the_end_of_a_stage_moves_to_the_next(source):
    file = microsoft_file()
    converted = convert_state_dict(file, source)
    for stage in (1, 2, 3):
        name = f"layers.{stage}.downsample.reduction.weight"
        assert torch.equal(converted[name], file[f"layers.{stage - 1}.downsample.reduction.weight"])
    model = SwinCSaN(ARCH, mixer="softmax", out_indices=(3,))
    model.load_state_dict(converted)


@torch.no_grad()
@pytest.mark.parametrize("end_of_stage", [False, True], ids=["today", "older"])
def test_timm_of_either_age(end_of_stage):
    theirs = timm.create_model(
        "swin_tiny_patch4_window7_224", num_classes=7, embed_dim=16, depths=(1, 1, 1, 1), num_heads=(1, 2, 4, 4)
    )
    theirs.eval()
    state = theirs.state_dict()
    if end_of_stage:
        moved = {f"layers.{i}.downsample.": f"layers.{i - 1}.downsample." for i in (1, 2, 3)}
        for new, old in moved.items():
            state = {name.replace(new, old): value for name, value in state.items()}
    assert guess_source(state) == "timm-swin"
    ours = SwinCSaN(ARCH, mixer="softmax", out_indices=(3,)).eval()
    ours.load_state_dict(convert_state_dict(state, "timm-swin"))
    image = torch.randn(1, 3, 224, 224)
    torch.testing.assert_close(ours(image)[0], theirs.forward_features(image).permute(0, 3, 1, 2), rtol=1e-4, atol=1e-5)


def test_authors_file_keeps_values_and_drops_the_head():
    model = SwinCSaN(ARCH, version="v2", out_indices=(3,))
    file = {f"module.{name.replace('norm3.', 'norm.')}": value for name, value in model.state_dict().items()}
    file |= {
        "module.head.fc.weight": torch.zeros(10, 128),
        "module.layers.0.blocks.0.attn.relative_position_index": torch.zeros(1),
    }
    converted = convert_state_dict(file, "csan-swin")
    assert all(torch.equal(converted.pop(name), value) for name, value in model.state_dict().items())
    assert converted == {}


def test_sources_are_told_apart():
    assert guess_source(microsoft_file()) == "ms-swin"
    assert guess_source(SwinCSaN(ARCH).state_dict()) == "csan-swin"
    assert guess_source({"conv1.weight": torch.zeros(1)}) is None


def test_wrong_sources_are_named():
    with pytest.raises(ValueError, match=r"source='swin' is unknown: take one of .*csan-swin"):
        convert_state_dict(microsoft_file(), "swin")
    with pytest.raises(CheckpointError, match=r"source='csan-swin' does not fit .*look like source='ms-swin'"):
        convert_state_dict(microsoft_file(), "csan-swin")
    with pytest.raises(CheckpointError, match="look like none of"):
        convert_state_dict({"conv1.weight": torch.zeros(1)}, "ms-swin")


def run_convert(root, *args) -> subprocess.CompletedProcess:
    command = [sys.executable, str(root / "tools/model_converters/convert.py"), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_command_line(tmp_path, repo_root):
    torch.save({"model": microsoft_file()}, tmp_path / "swin.pth")
    done = run_convert(repo_root, tmp_path / "swin.pth", tmp_path / "out.safetensors", "--source", "ms-swin")
    assert done.returncode == 0, done.stderr
    assert "left out: head" in done.stdout
    SwinCSaN(ARCH, mixer="softmax", out_indices=(3,)).load_state_dict(load_file(tmp_path / "out.safetensors"))
    failed = run_convert(repo_root, tmp_path / "swin.pth", tmp_path / "bad.pth", "--source", "csan-swin")
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: source='csan-swin' does not fit")
    assert not (tmp_path / "bad.pth").exists()
