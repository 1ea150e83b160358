"""No entry point runs what a foreign file wants to run; --trust, which the message names, does."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from mmengine.runner import CheckpointLoader
from PIL import Image
from tiny_configs import CONFIGS, FAMILIES, TINY, TOOLS

import csan_mm
from csan_mm.checkpoint import CheckpointError


class Malicious:
    """Unpickling it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple:
        return os.makedirs, (str(self.folder), 0o755, True)


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory, digits_root: Path) -> tuple[Path, dict]:
    """A config, and the checkpoint of its training."""
    folder = tmp_path_factory.mktemp("foreign")
    base, model = FAMILIES["detection"]
    config = folder / "foreign_detection.py"
    config.write_text(TINY.format(base=str(CONFIGS / "digits" / base), model=model))
    command = [sys.executable, str(TOOLS / "train.py"), str(config), "--work-dir", str(folder / "run")]
    environment = {**os.environ, "DIGITS_ROOT": str(digits_root)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return config, torch.load(folder / "run" / "iter_1.pth", weights_only=False)


@pytest.fixture
def evil(training: tuple[Path, dict], tmp_path: Path, digits_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That checkpoint, with something in it that runs when it is unpickled."""
    monkeypatch.setenv("DIGITS_ROOT", str(digits_root))
    path = tmp_path / "work" / "iter_1.pth"
    path.parent.mkdir()
    torch.save({**training[1], "extra": Malicious(tmp_path / "ran")}, path)
    (path.parent / "last_checkpoint").write_text(str(path))
    Image.new("RGB", (40, 30)).save(tmp_path / "picture.png")
    return path


#: Tool and arguments, from (config, malicious file, folder).
ENTRIES: dict[str, Callable[[Path, Path, Path], list]] = {
    "resume a file": lambda cfg, evil, _: ["train.py", cfg, "--resume", evil],
    "resume the last": lambda cfg, evil, _: ["train.py", cfg, "--work-dir", evil.parent, "--resume"],
    "load_from": lambda cfg, evil, _: ["train.py", cfg, "--cfg-options", f"load_from={evil}"],
    "mmengine's Pretrained": lambda cfg, evil, _: [
        *("train.py", cfg, "--cfg-options", "model.init_cfg.type=Pretrained", f"model.init_cfg.checkpoint={evil}")
    ],
    "test": lambda cfg, evil, _: ["test.py", cfg, evil],
    "infer": lambda cfg, evil, to: [
        *("infer.py", to / "picture.png", "--config", cfg, "--checkpoint", evil, "--out", to / "out")
    ],
    "convert": lambda _, evil, to: [
        *("model_converters/convert.py", evil, to / "converted.safetensors", "--source", "csan-swin")
    ],
    "export": lambda cfg, evil, to: ["export_backbone.py", cfg, evil, to / "backbone"],
    "export model": lambda cfg, evil, to: ["export_model.py", cfg, evil, to / "net.pt2", "--part", "backbone"],
    "publish": lambda _, evil, to: ["misc/publish_model.py", evil, to / "published.pth"],
    "noise": lambda cfg, evil, _: [
        *("analysis_tools/noise_robustness.py", "--model", "a", cfg, evil, "--variances", 0, "--trials", 1)
    ],
    "coding rate": lambda cfg, evil, _: ["analysis_tools/coding_rate.py", "--model", "a", cfg, evil],
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_tool_refuses_and_names_the_way_around(tool, training, evil, tmp_path, entry):
    arguments = ENTRIES[entry](training[0], evil, tmp_path)
    before = {path for path in tmp_path.rglob("*") if path.suffix != ".log"}
    refused = tool(*arguments)
    assert refused.code == 1
    (line,) = [line for line in refused.err.splitlines() if line.startswith("error: ")]
    assert str(evil) in line
    assert "os.makedirs" in line
    assert "--trust" in line
    assert not (tmp_path / "ran").exists()
    written = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert not [path for path in written if path.suffix in (".pth", ".safetensors", ".json", ".png")]

    trusted = tool(*arguments, "--trust")
    assert (tmp_path / "ran").is_dir(), trusted.err  # so the file does run something
    if entry not in ("coding rate", "noise"):  # which go on to say that this model has no such mixer
        assert trusted.code == 0, trusted.err


@pytest.fixture
def url(evil: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The same file from a server on this machine; mmengine's loaders come back afterwards."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(torch.hub, "_hub_dir", str(evil.parent / "hub"))
    monkeypatch.setattr(CheckpointLoader, "_schemes", dict(CheckpointLoader._schemes))
    handler = partial(SimpleHTTPRequestHandler, directory=evil.parent)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/iter_1.pth"
        server.shutdown()


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry != "resume the last"])
def test_every_tool_refuses_it_as_a_url_too(tool, training, url, tmp_path, entry):
    """Those that fetch read safely; the others say that a URL is not a file."""
    ended = tool(*ENTRIES[entry](training[0], url, tmp_path))
    assert ended.code == 1
    (line,) = [line for line in ended.err.splitlines() if line.startswith("error: ")]
    fetched = (tmp_path / "work" / "hub" / "checkpoints" / "iter_1.pth").is_file()
    assert ("os.makedirs" in line) if fetched else (url in line and "fetch it" in line)
    assert not (tmp_path / "ran").exists()
    if entry in ("load_from", "mmengine's Pretrained", "test", "noise"):
        assert fetched
        assert tool(*ENTRIES[entry](training[0], url, tmp_path), "--trust").code == 0
        assert (tmp_path / "ran").is_dir()


@pytest.mark.parametrize("how", ["init_cfg", "get_backbone"])
def test_so_do_init_cfg_and_get_backbone(evil, tmp_path, how):
    arch = {"embed_dims": 16, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 4, 8)}
    options = {"version": "v2", "window_size": 4}

    def load(**trust: bool) -> None:
        if how == "get_backbone":
            csan_mm.get_backbone("swin-csan-tiny", pretrained=evil, min_match=0.0, **trust)
        else:
            init = {"type": "csan_mm.Pretrained", "checkpoint": str(evil), **trust}
            csan_mm.backbones.SwinCSaN(arch, **options, init_cfg=init).init_weights()

    with pytest.raises(CheckpointError, match=r"os\.makedirs.*--trust.*trust=True"):
        load()
    assert not (tmp_path / "ran").exists()
    load(trust=True)
    assert (tmp_path / "ran").is_dir()
