"""``csan_mm run SCRIPT``: csan_mm is imported first, and the script notices nothing else."""

import json
import os
import subprocess
import sys

import pytest
from mmengine.config import Config
from mmengine.registry import VISUALIZERS, init_default_scope

from csan_mm.cli.run_script import main
from csan_mm.datasets import DigitsSpec, build_digits

SCRIPT = """
import json, sys
from beside import VALUE
import mmcv.ops
from mmdet.registry import MODELS
assert "csan_mm" in sys.modules
json.dump([VALUE, __name__, sys.argv, MODELS.get("csan_mm.SwinCSaN").__name__], open("said.json", "w"))
sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else None)
"""


def start(*words, cwd, **environment) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "csan_mm", "run", *map(str, words)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_a_script_runs_as_if_python_had_been_called(tmp_path):
    """Its arguments (a --help too), what lies beside it, and its exit status."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/beside.py").write_text("VALUE = 7\n")
    (tmp_path / "scripts/tool.py").write_text(SCRIPT)
    done = start("scripts/tool.py", "--help", 5, cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    said = json.loads((tmp_path / "said.json").read_text())
    assert said == [7, "__main__", ["scripts/tool.py", "--help", "5"], "SwinCSaN"]


def test_statuses_and_what_is_put_back(tmp_path, capsys):
    script = tmp_path / "ends.py"
    argv, path = list(sys.argv), list(sys.path)
    for code, status, said in (("None", 0, ""), ("3", 3, ""), ("'no data'", 1, "no data\n")):
        script.write_text(f"import sys\nsys.exit({code})\n")
        assert main([str(script)]) == status
        assert capsys.readouterr().err == said
    script.write_text("raise KeyError('its own fault')\n")
    with pytest.raises(KeyError, match="its own fault"):
        main([str(script)])
    assert (sys.argv, sys.path) == (argv, path)
    for missing in ("nowhere.py", "mmdet::nowhere.py", "no.package::tool.py"):
        assert main([missing]) == 2
        assert f"error: script {missing} does not exist" in capsys.readouterr().err


@pytest.mark.slow
def test_mmdets_browse_dataset(repo_root, tmp_path):
    build_digits(tmp_path / "digits", DigitsSpec(train_count=3, val_count=2, image_size=(64, 64)), ["coco"])
    config = repo_root / "configs/digits/retinanet_swin-csan-c48_fpn_12e_digits.py"
    words = ["mmdet::analysis_tools/browse_dataset.py", config, "--not-show", "--output-dir", "drawn"]
    done = start(*words, cwd=tmp_path, DIGITS_ROOT=str(tmp_path / "digits"))
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(list((tmp_path / "drawn").iterdir())) == 3


def test_every_config_builds_its_visualizer_by_mmdets_documented_line(repo_root):
    """``VISUALIZERS.build(cfg.visualizer)`` needs a name, which only a Runner would add."""
    for library in ("mmdet", "mmseg", "mmpretrain"):
        cfg = Config.fromfile(repo_root / f"configs/_base_/{library}_runtime.py")
        init_default_scope(library)
        __import__(f"{library}.visualization")
        assert VISUALIZERS.build({**cfg.visualizer, "vis_backends": None}).instance_name == "visualizer"
    for path in sorted((repo_root / "configs").glob("*/*.py")):
        if path.parent.name != "_base_":
            assert Config.fromfile(path).visualizer.name == "visualizer", path
