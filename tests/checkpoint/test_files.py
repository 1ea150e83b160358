"""Reading weight files: every wrapper, every prefix, damage, and pickles that want to run."""

import argparse
import os
import re

import pytest
import safetensors.torch
import torch
from mmengine.logging import HistoryBuffer

from csan_mm.checkpoint import CheckpointError, load_file, safe_load, save_file
from csan_mm.checkpoint.files import WRAPPERS

WEIGHTS = {"layers.0.weight": torch.arange(4.0), "norm.bias": torch.ones(2)}


def assert_weights(state: dict) -> None:
    assert set(state) == set(WEIGHTS)
    assert all(torch.equal(state[name], value) for name, value in WEIGHTS.items())


@pytest.mark.parametrize("suffix", [".pth", ".pt", ".bin"])
@pytest.mark.parametrize("wrapper", [*WRAPPERS, None])
def test_finds_the_weights_under_every_wrapper(tmp_path, wrapper, suffix):
    path = tmp_path / f"weights{suffix}"
    torch.save(WEIGHTS if wrapper is None else {wrapper: WEIGHTS, "epoch": 3}, path)
    assert_weights(load_file(path))


def test_averaged_weights_come_first(tmp_path):
    torch.save({"state_dict": {"layers.0.weight": torch.zeros(4)}, "state_dict_ema": WEIGHTS}, tmp_path / "w.pth")
    assert_weights(load_file(tmp_path / "w.pth"))


@pytest.mark.parametrize(
    "prefix", ["module.", "_orig_mod.", "backbone.", "module._orig_mod.", "_orig_mod.module.backbone."]
)
@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_strips_prefixes(tmp_path, prefix, suffix):
    path = tmp_path / f"w{suffix}"
    state = {prefix + name: value for name, value in WEIGHTS.items()}
    safetensors.torch.save_file(state, path) if suffix == ".safetensors" else torch.save({"state_dict": state}, path)
    assert_weights(load_file(path))


def test_reads_what_common_savers_put_beside_the_weights(tmp_path):
    buffer = HistoryBuffer()
    buffer.update(1.5)
    extras = {
        "args": argparse.Namespace(lr=1e-3),
        "message_hub": {"log_scalars": {"loss": buffer}},
        "epoch": 3,
        "metric": None,
    }
    torch.save({"state_dict": WEIGHTS, **extras}, tmp_path / "w.pth")
    assert_weights(load_file(tmp_path / "w.pth"))
    assert safe_load(tmp_path / "w.pth")["message_hub"]["log_scalars"]["loss"].mean() == 1.5


class Malicious:
    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return os.mkdir, (self.marker,)


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
def test_a_malicious_pickle_is_refused_and_not_run(tmp_path, legacy):
    path, marker = tmp_path / "evil.pth", tmp_path / "ran"
    torch.save({"state_dict": WEIGHTS, "x": Malicious(marker)}, path, _use_new_zipfile_serialization=not legacy)
    with pytest.raises(CheckpointError, match=re.escape(str(path)) + ".*mkdir.*was not read.*--trust"):
        load_file(path)
    assert not marker.exists()
    assert set(load_file(path, trust=True)) == set(WEIGHTS)
    assert marker.exists()


@pytest.mark.parametrize(
    "content", [b"", b"not a checkpoint", b"\x89PNG\r\n\x1a\n0000"], ids=["empty", "text", "image"]
)
@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_other_files_are_named(tmp_path, content, suffix):
    path = tmp_path / f"w{suffix}"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=re.escape(str(path)) + " is not a readable checkpoint"):
        load_file(path)


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_truncated_files_are_named(tmp_path, suffix, share):
    whole, path = tmp_path / f"whole{suffix}", tmp_path / f"cut{suffix}"
    save_file({"a": torch.randn(500)}, whole)
    path.write_bytes(whole.read_bytes()[: int(share * whole.stat().st_size)])
    with pytest.raises(CheckpointError, match=re.escape(str(path)) + " is not a readable checkpoint.*truncated"):
        load_file(path)


def test_missing_and_weightless_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.pth does not exist"):
        load_file(tmp_path / "nowhere.pth")
    torch.save({"epoch": 1}, tmp_path / "w.pth")
    with pytest.raises(CheckpointError, match="holds no weights"):
        load_file(tmp_path / "w.pth")


@pytest.mark.parametrize("suffix", [".pth", ".pt", ".safetensors"])
def test_saving_and_loading(tmp_path, suffix):
    path = tmp_path / "new folder" / f"w{suffix}"
    save_file(WEIGHTS, path, {"source": "csan-swin"})
    assert_weights(load_file(path))
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode  # what the umask says, in every format


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "w.pth"
    save_file(WEIGHTS, path)

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(KeyboardInterrupt):
        save_file({"other": torch.ones(1)}, path)
    assert_weights(load_file(path))
    assert [p.name for p in tmp_path.iterdir()] == ["w.pth"]


def test_wrong_suffix_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"w\.txt"):
        save_file(WEIGHTS, tmp_path / "w.txt")
