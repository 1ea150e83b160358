"""tools/export_model.py: the file of a trained model runs elsewhere; mistakes are one sentence and leave no file."""

import re
from pathlib import Path

import onnxruntime
import pytest
import torch
from mmengine.config import Config

from csan_mm.cli.models import load_model


@pytest.fixture
def trained(tool, tiny_config, tmp_path) -> tuple[Path, Path]:
    config = tiny_config("detection")
    assert tool("train.py", config, "--work-dir", tmp_path / "run").code == 0
    return config, tmp_path / "run" / "iter_2.pth"


@pytest.mark.slow
def test_a_detector_as_onnx_gives_its_heads_maps(tool, trained, tmp_path):
    config, checkpoint = trained
    written = tool("export_model.py", config, checkpoint, tmp_path / "net.onnx")
    assert written.code == 0, written.err
    assert "net.onnx" in written.out
    model, _ = load_model(Config.fromfile(config), str(checkpoint))
    image = torch.randn(1, 3, 50, 90)
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx", providers=["CPUExecutionProvider"])
    scores = session.run(None, {"image": image.numpy()})[0]
    with torch.no_grad():
        expected = model.eval().bbox_head(model.extract_feat(image))[0][0]
    torch.testing.assert_close(torch.from_numpy(scores), expected, rtol=1e-3, atol=1e-4)


def test_a_backbone_as_torch_program_and_mistakes(tool, trained, tmp_path):
    config, checkpoint = trained
    written = tool("export_model.py", config, checkpoint, tmp_path / "net.pt2", "--part", "backbone")
    assert written.code == 0, written.err
    with open(tmp_path / "net.pt2", "rb") as file:
        maps = torch.export.load(file).module()(torch.randn(1, 3, 50, 90))
    assert [tuple(level.shape[-2:]) for level in maps] == [(13, 23), (7, 12), (4, 6), (2, 3)]

    # The backbone of another width, set on the command line, does not fit the file: the option reached the model.
    width = "model.backbone.arch.embed_dims=32"
    for script, name in (("export_model.py", "wide.pt2"), ("export_backbone.py", "wide")):
        other = tool(script, config, checkpoint, tmp_path / name, "--cfg-options", width)
        assert other.code == 1, other.out
        assert re.search("does not fit|is not that of", other.err), other.err
    assert not list(tmp_path.glob("wide*"))

    wrong = tool("export_model.py", config, checkpoint, tmp_path / "net.pb")
    assert (wrong.code, ".onnx" in wrong.err) == (2, True)
    old = tool("export_model.py", config, checkpoint, tmp_path / "old.onnx", "--opset", 11)
    assert (old.code, "opset=11" in old.err) == (1, True)
    absent = tool("export_model.py", config, tmp_path / "none.pth", tmp_path / "net.onnx")
    assert (absent.code, "none.pth does not exist" in absent.err) == (1, True)
    assert not list(tmp_path.glob("*.onnx"))
