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
