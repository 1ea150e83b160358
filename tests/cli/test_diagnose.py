"""``csan_mm diagnose``: every diagnostic on backbones by name and by config; mistakes are one sentence."""

import json

import pytest
from PIL import Image

from csan_mm.analysis.diagnostics import DIAGNOSTICS
from csan_mm.commands import main
from csan_mm.commands.diagnose import WHAT

SIZE = ["--shape", "64", "96", "--num-images", "1"]


def test_the_command_knows_every_diagnostic():
    assert sorted(WHAT) == sorted(DIAGNOSTICS)


def test_receptive_fields_by_name_and_config(tmp_path, capsys, repo_root):
    config = repo_root / "configs" / "digits" / "retinanet_swin-csan-c48_fpn_12e_digits.py"
    Image.new("L", (50, 40), 90).save(tmp_path / "grey.png")
    models = ["weightformer-tiny", str(config), "weightformer-tiny"]
    out = tmp_path / "out"
    main(["diagnose", "receptive-field", *models, *SIZE, "--images", str(tmp_path / "grey.png"), "--out", str(out)])
    written = json.loads((out / "receptive-field.json").read_text())
    assert list(written["models"]) == ["weightformer-tiny", config.stem, "weightformer-tiny (2)"]
    assert written["models"]["weightformer-tiny"] == written["models"]["weightformer-tiny (2)"]  # the seed decides
    assert [row["stride"] for row in written["models"][config.stem]] == [4, 8, 16, 32]
    assert written["shape"] == [64, 96]
    assert (out / "receptive-field.png").stat().st_size > 1000
    assert str(out / "receptive-field.json") in capsys.readouterr().out


MODELS = {
    "attention-rows": ["vit-csan-tiny", "mavit-tiny"],
    "budget-dilemma": ["vit-csan-tiny"],
    "coding-rate": ["cbt-tiny"],
    "csan-gains": ["vit-csan-tiny", "swin-csan-min"],
    "dynamic-weights": ["weightformer-tiny"],
    "representatives": ["cbt-tiny"],
}


@pytest.mark.filterwarnings("ignore:8 x 8 representatives")
@pytest.mark.parametrize(("what", "models"), MODELS.items(), ids=MODELS)
def test_every_other_diagnostic_by_name(what, models, tmp_path):
    main(["diagnose", what, *models, *SIZE, "--out", str(tmp_path)])
    written = json.loads((tmp_path / f"{what}.json").read_text())
    assert list(written["models"]) == models
    assert all(rows and all("layer" in row for row in rows) for rows in written["models"].values())
    assert (tmp_path / f"{what}.png").stat().st_size > 1000


@pytest.mark.filterwarnings("ignore:8 x 8 representatives")
def test_segments_are_compared_with_labels(tmp_path):
    Image.effect_noise((96, 64), 80).convert("RGB").save(tmp_path / "one.png")
    (tmp_path / "labels").mkdir()
    Image.new("L", (96, 64), 1).save(tmp_path / "labels" / "one.png")
    options = [
        "--images",
        str(tmp_path / "one.png"),
        "--labels",
        str(tmp_path / "labels"),
        "--out",
        str(tmp_path / "out"),
    ]
    main(["diagnose", "representatives", "cbt-tiny", *SIZE, *options])
    rows = json.loads((tmp_path / "out" / "representatives.json").read_text())["models"]["cbt-tiny"]
    assert [row["mIoU"] for row in rows] == [1.0] * 12  # one class


@pytest.mark.parametrize(
    ("what", "options", "words"),
    [
        ("csan-gains", ["weightformer-tiny"], "WeightFormer has no CSaN mixer here"),
        ("dynamic-weights", ["cbt-tiny"], "CBT has no dynamic layers here"),
        ("coding-rate", ["mavit-tiny"], "MAViT has no subspaces here"),
        ("representatives", ["cbt-tiny", "--labels", "labels"], "--labels belongs to images of your own"),
    ],
)
def test_a_backbone_that_does_not_fit(what, options, words, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["diagnose", what, *options, *SIZE, "--out", str(tmp_path / "out")])
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert words in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nonsense"], "config nonsense does not exist"),
        (["weightformer-tiny", "--images", "nowhere.png"], "nowhere.png does not exist"),
        (["weightformer-tiny", "--checkpoints", "a.pth", "b.pth"], "2 files for 1 models"),
        (["weightformer-tiny", "--checkpoints", "missing.pth"], "missing.pth"),
        (["weightformer-tiny", "--shape", "0", "8"], "take numbers from 1 up"),
    ],
)
def test_mistakes(options, words, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["diagnose", "receptive-field", *options, "--out", str(tmp_path / "out")])
    error = capsys.readouterr().err
    assert stop.value.code in (1, 2)
    assert error.startswith("error: ")
    assert words in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()
