"""The commands for coding rates and for noise on projections, from a checkpoint to table and picture."""

import pytest
import torch
from mmengine.config import Config

from csan_mm.analysis.models import build_model


@pytest.fixture
def trained(tiny_config, tmp_path):
    """A small config whose mixer is CBSA, and a checkpoint of it."""
    config = tiny_config("classification", "model['backbone']['mixer'] = dict(type='cbsa', rep_grid=2)\n")
    checkpoint = tmp_path / "weights.pth"
    torch.save({"state_dict": build_model(Config.fromfile(config)).state_dict()}, checkpoint)
    return config, checkpoint


def test_noise_robustness(trained, tool):
    ended = tool("analysis_tools/noise_robustness.py", "--model", "mine", *trained, "--variances", 0, 1, "--trials", 1)
    assert ended.code == 0, ended.err
    rows = [line for line in ended.out.splitlines() if line.startswith("| mine")]
    assert [row.split("|")[2].strip() for row in rows] == ["0", "1"]
    assert "picture: noise_robustness.png" in ended.out


def test_coding_rate(trained, tool, tmp_path):
    ended = tool(
        "analysis_tools/coding_rate.py", "--model", "mine", *trained, "--images", 3, "--out", tmp_path / "r.pdf"
    )
    assert ended.code == 0, ended.err
    assert "| layer | tokens | representatives | contracted representatives |" in ended.out
    assert (tmp_path / "r.pdf").stat().st_size > 1000


def test_wrong_use_is_one_sentence(trained, tiny_config, tool, tmp_path):
    config, checkpoint = trained
    ended = tool("analysis_tools/coding_rate.py", "--model", "mine", config, tmp_path / "absent.pth")
    assert (ended.code, "absent.pth does not exist" in ended.err) == (1, True)
    ended = tool(
        "analysis_tools/noise_robustness.py", "--model", "a", config, checkpoint, "--metric", "mIoU", "--variances", 0
    )
    assert ended.code == 1
    assert "--metric mIoU is not measured: take one of accuracy/top1" in ended.err
    plain = tiny_config("classification")
    torch.save({"state_dict": build_model(Config.fromfile(plain)).state_dict()}, tmp_path / "plain.pth")
    ended = tool("analysis_tools/coding_rate.py", "--model", "a", plain, tmp_path / "plain.pth")
    assert (ended.code, "has no subspaces: take a model with mixer='cbsa'" in ended.err) == (1, True)
