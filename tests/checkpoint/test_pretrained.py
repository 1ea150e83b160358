"""The initializer: what it reports, and when it stops."""

import logging
import re

import pytest
import torch
from mmengine.logging import MMLogger
from mmengine.registry import MODELS

from csan_mm.backbones import SwinCSaN
from csan_mm.checkpoint import CheckpointError, save_file

ARCH = {"embed_dims": 16, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 4, 4)}


@pytest.fixture
def report():
    """The lines logged while a backbone is initialised."""

    class Lines(logging.Handler):
        def __init__(self):
            super().__init__()
            self.lines = []

        def emit(self, record):
            self.lines.append(f"{record.levelname} {record.getMessage()}")

    logger, handler = MMLogger.get_current_instance(), Lines()
    logger.addHandler(handler)
    yield handler.lines
    logger.removeHandler(handler)


def plain_file(path, **options) -> dict[str, torch.Tensor]:
    """A plain Swin classifier's file in timm's layout."""
    state = SwinCSaN(ARCH, mixer="softmax", out_indices=(3,), **options).state_dict()
    state = {name.replace("norm3.", "norm."): value for name, value in state.items()}
    torch.save({"model": {**state, "head.fc.weight": torch.zeros(10, 128)}}, path)
    return state


def build(path, source=None, min_match=0.95, **options):
    init_cfg = {"type": "csan_mm.Pretrained", "checkpoint": str(path), "source": source, "min_match": min_match}
    model = MODELS.build({"type": "csan_mm.SwinCSaN", "arch": ARCH, "init_cfg": init_cfg, **options})
    model.init_weights()
    return model


def test_csan_starts_from_a_plain_swin(tmp_path, report):
    """Shared weights are the file's, CSaN's own keep their initialisation, and one line says so."""
    state = plain_file(tmp_path / "swin.pth")
    model = build(tmp_path / "swin.pth", "timm-swin")
    own = model.state_dict()
    for name, value in state.items():
        assert torch.equal(own[name.replace("norm.", "norm3.", 1) if name.startswith("norm.") else name], value)
    assert own["layers.0.blocks.0.attn.u.weight"].std() == pytest.approx(0.02, rel=0.3)
    (line,) = [line for line in report if "swin.pth: loaded" in line]
    assert f"loaded {len(state)}/{len(state)}, ignored head.*, new attn.act.proj, attn.ka" in line
    assert "norm0, norm1, norm2" in line


def test_authors_file_loads_whole(tmp_path, report):
    state = {name: value for name, value in SwinCSaN(ARCH).state_dict().items() if not name.startswith("norm")}
    save_file({f"module.{name}": value for name, value in state.items()}, tmp_path / "csan.safetensors")
    model = build(tmp_path / "csan.safetensors", "csan-swin")
    assert all(torch.equal(model.state_dict()[name], value) for name, value in state.items())
    assert any(f"loaded {len(state)}/{len(state)}, new norm0, norm1, norm2, norm3" in line for line in report)


def test_a_detectors_file_gives_its_backbone(tmp_path, report):
    trained = SwinCSaN(ARCH)
    state = {f"backbone.{name}": value for name, value in trained.state_dict().items()}
    torch.save({"state_dict": {**state, "bbox_head.weight": torch.zeros(3)}}, tmp_path / "epoch_12.pth")
    model = build(tmp_path / "epoch_12.pth")
    assert all(
        torch.equal(one, other) for one, other in zip(model.state_dict().values(), trained.state_dict().values())
    )
    assert any("ignored bbox_head.*" in line for line in report)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"arch": {**ARCH, "embed_dims": 32}}, "of another shape: patch_embed.proj.weight"),
        ({"arch": {**ARCH, "depths": (1, 1, 6, 1)}}, "missing: layers.2.blocks.1"),
    ],
    ids=["wider", "deeper"],
)
def test_another_architecture_stops(tmp_path, options, said):
    plain_file(tmp_path / "swin.pth")
    with pytest.raises(CheckpointError, match=re.escape(said)) as error:
        build(tmp_path / "swin.pth", "ms-swin", **options)
    assert "swin.pth does not fit SwinCSaN" in str(error.value)
    assert "looks like arch=dict(embed_dims=16, depths=(1, 1, 1, 1)" in str(error.value)


@pytest.mark.parametrize("levels", [(0, 1, 2, 3), (0, 1)])
def test_a_layout_that_was_not_given_is_named_and_no_arch_that_is_the_same(tmp_path, levels):
    plain_file(tmp_path / "swin.pth")
    with pytest.raises(CheckpointError, match="has the layout of source='timm-swin': give that source") as error:
        build(tmp_path / "swin.pth", out_indices=levels)
    assert "arch=" not in str(error.value)


@pytest.mark.parametrize("kappas", [("bounded", "unbounded"), ("unbounded", "bounded")], ids=" to ".join)
def test_the_other_kappa_stops(tmp_path, kappas):
    save_file(SwinCSaN(ARCH, kappa=kappas[0]).state_dict(), tmp_path / "csan.pth")
    with pytest.raises(CheckpointError, match=r"(missing|unexpected): layers.0.blocks.0.attn.act.proj"):
        build(tmp_path / "csan.pth", kappa=kappas[1])


def test_the_named_arch_is_guessed(tmp_path):
    with torch.device("meta"):
        state = SwinCSaN("small", out_indices=(3,)).state_dict()
    assert SwinCSaN(ARCH).guess_arch(state) == "'small'"


def test_a_lower_bar_lets_a_part_in_and_warns(tmp_path, report):
    plain_file(tmp_path / "swin.pth")
    build(tmp_path / "swin.pth", "ms-swin", min_match=0.3, arch={**ARCH, "depths": (1, 1, 2, 1)})
    assert any(line.startswith("WARNING") and "missing: layers.2.blocks.1" in line for line in report)


def test_levels_that_are_not_built_are_no_mismatch(tmp_path, report):
    plain_file(tmp_path / "swin.pth")
    build(tmp_path / "swin.pth", "ms-swin", min_match=1.0, out_indices=(0, 1))
    assert any("ignored head.*, layers.*" in line for line in report)


def test_position_bias_of_another_window_is_resized(tmp_path, report):
    plain_file(tmp_path / "swin.pth", window_size=5)
    model = build(tmp_path / "swin.pth", "ms-swin", min_match=1.0)
    assert model.layers[0].blocks[0].attn.relative_position_bias_table.shape == (169, 1)
    assert any("resized 4 position bias tables" in line for line in report)


def test_missing_file_and_wrong_options_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"swin.pth does not exist"):
        build(tmp_path / "swin.pth", "ms-swin")
    with pytest.raises(ValueError, match="source='swin'"):
        build(tmp_path / "swin.pth", "swin")
    with pytest.raises(ValueError, match="min_match=95"):
        build(tmp_path / "swin.pth", "ms-swin", min_match=95)
