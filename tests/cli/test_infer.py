"""tools/infer.py on pictures as people have them, for a detector and a segmentor with untrained weights."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import MODELS, DefaultScope
from PIL import Image

from csan_mm.cli.pictures import UnreadableImageError, find_images, read_image

ARCH = {"embed_dims": 16, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 4, 4)}
CONFIGS = {
    "detector": "retinanet_swin-csan-c48_fpn_12e_digits.py",
    "segmentor": "swin-csan-c48_upernet_1xb8-1k_digits-128x128.py",
}


@pytest.fixture
def pictures(tmp_path) -> Path:
    folder = tmp_path / "pictures"
    (folder / "more").mkdir(parents=True)
    rng = np.random.default_rng(0)
    rgb = Image.fromarray(rng.integers(0, 255, (40, 60, 3), dtype=np.uint8))
    rgb.convert("L").save(folder / "grey.png")
    rgb.convert("RGBA").save(folder / "rgba.png")
    rgb.convert("P").save(folder / "palette.png")
    Image.fromarray(rng.integers(0, 65535, (40, 60), dtype=np.uint16)).save(folder / "deep.png")
    rgb.save(folder / "deep.jpg")
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    rgb.save(folder / "turned.jpg", exif=exif)
    rgb.save(folder / "more" / "grey.png")
    (folder / "broken.jpg").write_bytes(b"no image")
    rgb.resize((2, 700)).save(folder / "thin.png")
    return folder


@pytest.fixture(params=CONFIGS)
def model(request, repo_root, tmp_path) -> tuple[str, Path, Path]:
    cfg = Config.fromfile(repo_root / "configs/digits" / CONFIGS[request.param])
    cfg.model.backbone.arch = ARCH
    widths = [16, 32, 64, 128]
    if request.param == "detector":
        cfg.model.neck.in_channels = widths
    else:
        cfg.model.decode_head.update(in_channels=widths, channels=16)
        cfg.model.auxiliary_head.update(in_channels=widths[2], channels=16)
    cfg.dump(tmp_path / "config.py")
    with DefaultScope.overwrite_default_scope(cfg.default_scope):
        network = MODELS.build(cfg.model)
    torch.save({"state_dict": network.state_dict(), "meta": {"epoch": 1}}, tmp_path / "epoch_1.pth")
    return request.param, tmp_path / "config.py", tmp_path / "epoch_1.pth"


def infer(root: Path, *args) -> subprocess.CompletedProcess:
    command = [sys.executable, str(root / "tools/infer.py"), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_kind_of_picture_and_past_a_broken_one(model, pictures, repo_root, tmp_path):
    kind, config, checkpoint = model
    options = [
        "--config",
        config,
        "--checkpoint",
        checkpoint,
        "--out",
        tmp_path / "out",
        "--batch-size",
        2,
        "--device",
        "cpu",
    ]
    done = infer(repo_root, pictures, *options, "--score-thr", 0)
    assert done.returncode == 1, done.stderr
    assert f"warning: {pictures / 'broken.jpg'} is not a readable image" in done.stderr
    if kind == "detector":  # 128 pixels for the longer side leave nothing of the other
        assert f"warning: {pictures / 'thin.png'}, 700 x 2, does not pass the config's test pipeline" in done.stderr
    assert ("7 of 9 images" if kind == "detector" else "8 of 9 images") in done.stdout
    names = {"grey", "rgba", "palette", "deep.png", "deep.jpg", "turned", "more/grey"}
    for folder, suffix in (("vis", ".png"), ("preds", ".json")):
        assert all((tmp_path / "out" / folder / f"{name}{suffix}").is_file() for name in names)
        assert not (tmp_path / "out" / folder / f"broken{suffix}").exists()
    result = json.loads((tmp_path / "out/preds/turned.json").read_text())
    if kind == "detector":
        first = result["detections"][0]
        assert set(first) == {"bbox", "score", "label", "class"}
        assert first["class"] == str(first["label"])
        assert all(0 <= box["bbox"][2] <= 40 and 0 <= box["bbox"][3] <= 60 for box in result["detections"])
    else:
        assert Image.open(tmp_path / "out/preds" / result["label_map"]).size == (40, 60)
        assert sum(result["classes"].values()) == pytest.approx(1, abs=1e-4)


def test_causes_a_user_can_mend_are_one_sentence(model, pictures, repo_root, tmp_path):
    kind, config, checkpoint = model
    if kind == "segmentor":
        pytest.skip("the detector stands for both")
    state = torch.load(checkpoint)["state_dict"]
    state.pop("neck.lateral_convs.0.conv.weight")
    torch.save({"state_dict": state}, tmp_path / "other.pth")
    for wrong, said in ((tmp_path / "other.pth", "does not fit RetinaNet"), (tmp_path / "none.pth", "does not exist")):
        done = infer(repo_root, pictures, "--config", config, "--checkpoint", wrong, "--out", tmp_path / "out")
        assert done.returncode == 1
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1
        assert said in errors[0]
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_pictures_are_read_as_they_are_seen(tmp_path):
    pixels = np.zeros((2, 3, 3), dtype=np.uint8)
    pixels[0, 0] = (255, 0, 0)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=exif)
    turned = read_image(tmp_path / "turned.png")
    assert turned.shape == (3, 2, 3)
    assert turned[0, 1].tolist() == [0, 0, 255]  # red, in OpenCV's order, top right after the turn
    Image.fromarray(np.array([[0, 32768, 65535]], dtype=np.uint16)).save(tmp_path / "deep.png")
    assert read_image(tmp_path / "deep.png")[0, :, 0].tolist() == [0, 128, 255]
    Image.fromarray(np.zeros((1, 1, 4), dtype=np.uint8)).save(tmp_path / "clear.png")
    assert read_image(tmp_path / "clear.png").tolist() == [[[255, 255, 255]]]
    (tmp_path / "empty.png").write_bytes(b"")
    with pytest.raises(UnreadableImageError, match=r"empty\.png is not a readable image"):
        read_image(tmp_path / "empty.png")


def test_finding_pictures(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        find_images([str(tmp_path / "nowhere")])
    with pytest.raises(FileNotFoundError, match="no image in"):
        find_images([str(tmp_path)])
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        Image.new("L", (4, 4)).save(tmp_path / folder / "a.png")
    assert [str(name) for _, name in find_images([str(tmp_path)])] == ["one/a.png", "two/a.png"]
    both = [str(tmp_path / "one"), str(tmp_path / "two" / "a.png"), str(tmp_path / "one" / "a.png")]
    assert [str(name) for _, name in find_images(both)] == ["one/a.png", "two/a.png"]
    (tmp_path / "one/clip.MP4").touch()
    assert [str(name) for _, name in find_images([str(tmp_path / "one")])] == ["a.png", "clip.MP4"]
