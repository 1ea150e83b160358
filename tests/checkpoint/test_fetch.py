"""No scheme of a checkpoint's name runs a pickle: each is fetched and read safely, or refused with what to do instead."""

import http.server
import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import mmengine.runner.checkpoint as theirs
import pytest
import torch
from mmengine.fileio import BaseStorageBackend
from mmengine.runner import CheckpointLoader
from mmengine.runner.checkpoint import _load_checkpoint
from torch import nn

from csan_mm.checkpoint import CheckpointError, load_file
from csan_mm.checkpoint.fetch import fetch, require_checkpoint
from csan_mm.engine.resume import choose_checkpoint, read_checkpoints_safely


class Evil:
    """Unpickling it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple:
        return os.makedirs, (str(self.folder),)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A URL where tmp_path/served is; what is fetched lands in tmp_path/hub; mmengine's loaders come back afterwards."""
    (tmp_path / "served").mkdir()
    torch.save({"state_dict": {"backbone.w": torch.ones(3)}}, tmp_path / "served" / "good.pth")
    torch.save({"state_dict": {}, "meta": Evil(tmp_path / "ran")}, tmp_path / "served" / "evil.pth")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path / "hub"))
    monkeypatch.setattr(CheckpointLoader, "_schemes", dict(CheckpointLoader._schemes))
    handler = partial(Quiet, directory=tmp_path / "served")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


class Bucket(BaseStorageBackend):
    """s3://evil.pth and s3://good.pth, as mmengine's petrel backend would give them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, name: str) -> bytes:
        return (self.folder / name.rpartition("/")[2]).read_bytes()

    def get_text(self, name: str) -> str:
        return self.get(name).decode()


@pytest.fixture
def places(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """mmengine's lists have two models, evil and good; the second list has files of its home folder too."""
    urls = {name: f"{server}/{name}.pth" for name in ("evil", "good")}
    home = {f"home-{name}": str(tmp_path / "served" / f"{name}.pth") for name in ("evil", "good")}
    monkeypatch.setattr(theirs, "get_torchvision_models", lambda: urls)
    monkeypatch.setattr(theirs, "get_mmcls_models", lambda: urls)
    monkeypatch.setattr(theirs, "get_external_models", lambda: urls | home)
    monkeypatch.setattr(theirs, "get_deprecated_model_names", lambda: {"old-evil": "evil", "old-good": "good"})
    return server


NAMES = {
    "http": "{server}/{model}.pth",
    "http, with a query": "{server}/{model}.pth?download=1",
    "torchvision": "torchvision://{model}",
    "modelzoo": "modelzoo://{model}",
    "openmmlab": "openmmlab://{model}",
    "open-mmlab": "open-mmlab://{model}",
    "a deprecated name": "open-mmlab://old-{model}",
    "a file of mmengine's home": "openmmlab://home-{model}",
    "mmcls": "mmcls://{model}",
}


@pytest.mark.parametrize("scheme", NAMES)
def test_what_can_be_fetched_is_read_safely(places, tmp_path, scheme):
    evil, good = (NAMES[scheme].format(server=places, model=model) for model in ("evil", "good"))
    read_checkpoints_safely()
    weights = _load_checkpoint(good)["state_dict"]
    assert torch.equal(weights["w" if scheme == "mmcls" else "backbone.w"], torch.ones(3))
    with pytest.raises(CheckpointError, match=r"evil\.pth holds the object os\.makedirs.*--trust"):
        _load_checkpoint(evil)
    assert not (tmp_path / "ran").exists()
    read_checkpoints_safely(trust=True)
    _load_checkpoint(evil)
    assert (tmp_path / "ran").is_dir()


@pytest.mark.parametrize("name", ["s3://bucket/{}.pth", "cluster:s3://bucket/{}.pth", "petrel://bucket/{}.pth"])
def test_a_bucket_s_files_are_read_safely_where_their_backend_is_there(server, tmp_path, monkeypatch, name):
    read_checkpoints_safely()
    monkeypatch.setattr("csan_mm.checkpoint.fetch.get_file_backend", lambda *_, **__: Bucket(tmp_path / "served"))
    assert torch.equal(_load_checkpoint(name.format("good"))["state_dict"]["backbone.w"], torch.ones(3))
    with pytest.raises(CheckpointError) as refused:
        _load_checkpoint(name.format("evil"))
    assert str(refused.value).startswith(f"{name.format('evil')} holds the object os.makedirs")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["s3://bucket/a.pth", "cluster:s3://bucket/a.pth", "petrel://bucket/a.pth"])
def test_a_bucket_without_its_backend_is_refused_with_the_cure(server, name):
    read_checkpoints_safely()
    with pytest.raises(CheckpointError, match=r"cannot be fetched .*storage's own client and give the file's path"):
        _load_checkpoint(name)


def test_the_loaders_of_others_are_not_called(server, tmp_path):
    """pavi's, which mmengine has, and whatever a user's own package registered."""

    def load_from_elsewhere(filename: str, map_location: object = None) -> object:
        return torch.load(tmp_path / "served" / "evil.pth", weights_only=False)

    CheckpointLoader.register_scheme("elsewhere://", load_from_elsewhere)
    read_checkpoints_safely()
    for name in ("elsewhere://evil", "pavi://evil"):
        with pytest.raises(CheckpointError, match=f"{name}: .* unpickles .*give its path, or pass --trust"):
            _load_checkpoint(name)
    assert not (tmp_path / "ran").exists()


def test_no_scheme_keeps_its_own_loader(server):
    before = dict(CheckpointLoader._schemes)
    read_checkpoints_safely()
    assert before.keys() <= CheckpointLoader._schemes.keys()
    assert not [scheme for scheme, loader in before.items() if CheckpointLoader._schemes[scheme] is loader]


def test_an_unknown_model_names_the_near_ones(places):
    read_checkpoints_safely()
    with pytest.raises(CheckpointError, match=r"torchvision://goood: mmengine's list has no such model: take good"):
        _load_checkpoint("torchvision://goood")


def test_fetched_once(server, tmp_path):
    path = fetch(f"{server}/good.pth")
    assert path == tmp_path / "hub" / "checkpoints" / "good.pth"
    (tmp_path / "served" / "good.pth").unlink()
    assert fetch(f"{server}/good.pth") == path
    assert [file.name for file in path.parent.iterdir()] == ["good.pth"]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("{server}/none.pth", r"none\.pth cannot be fetched \(File not found\): .*hub/checkpoints/none\.pth"),
        ("http://127.0.0.1:1/a.pth", r"http://127\.0\.0\.1:1/a\.pth cannot be fetched \(.*refused"),
        ("{server}/", "names no file"),
    ],
)
def test_what_cannot_be_fetched_is_one_sentence_and_leaves_nothing(server, tmp_path, url, says):
    with pytest.raises(CheckpointError, match=says):
        fetch(url.format(server=server))
    assert not [path for path in (tmp_path / "hub").rglob("*") if path.is_file()]


def test_the_model_s_own_pretrained_goes_the_same_way(server, tmp_path):
    """mmengine's initializer, which mmdet's, mmseg's and mmpretrain's backbones use."""
    from mmengine.model import PretrainedInit

    read_checkpoints_safely()
    with pytest.raises(CheckpointError, match=r"os\.makedirs"):
        PretrainedInit(f"{server}/evil.pth")(nn.Linear(1, 1))
    assert not (tmp_path / "ran").exists()


def test_readers_of_files_say_that_a_url_is_none(tmp_path):
    url = "https://example.org/a.pth"
    with pytest.raises(CheckpointError, match=rf"{url} is a URL, .*fetch it first"):
        load_file(url)
    from mmengine.config import Config

    with pytest.raises(CheckpointError, match=f"--resume {url}: .*fetch it and give its path"):
        choose_checkpoint(Config({"work_dir": str(tmp_path)}), url)
    require_checkpoint(url)
    with pytest.raises(CheckpointError, match=r"none\.pth does not exist"):
        require_checkpoint(str(tmp_path / "none.pth"))
