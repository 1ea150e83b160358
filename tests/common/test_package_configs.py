"""The shipped configs from anywhere: as ``csan_mm::`` bases, by name on the command line, shown and copied."""

import pytest
from mmengine.config import Config

from csan_mm.commands import main
from csan_mm.common.config import read_config
from csan_mm.common.errors import UserError
from csan_mm.common.package_configs import configs_folder, serve_package_configs, shipped_configs

RETINANET = "csan/retinanet_swin-csan-t_fpn_1x_coco.py"


@pytest.mark.parametrize("name", [f"csan_mm::{RETINANET}", "retinanet_swin-csan-t_fpn_1x_coco"])
def test_shipped_config_by_name_is_the_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_config(name)._cfg_dict == Config.fromfile(configs_folder() / RETINANET)._cfg_dict


def test_bases_of_csan_mm_keep_the_scope_of_the_heir(tmp_path):
    """mmengine gives types from package:: bases the package's scope; RetinaNet is mmdet's and must stay so."""
    path = tmp_path / "mine.py"
    path.write_text(f'_base_ = ["csan_mm::{RETINANET}"]\noptim_wrapper = dict(optimizer=dict(lr=0.5))\n')
    cfg = Config.fromfile(path)
    assert cfg.optim_wrapper.optimizer.lr == 0.5
    assert "_scope_" not in str(cfg._cfg_dict)
    assert cfg.model == Config.fromfile(configs_folder() / RETINANET).model


def test_other_packages_still_resolve(tmp_path):
    serve_package_configs()
    serve_package_configs()
    path = tmp_path / "mine.py"
    path.write_text('_base_ = ["mmdet::_base_/schedules/schedule_1x.py", "csan_mm::_base_/schedules/adamw_1x.py"]\n')
    with pytest.raises(KeyError, match="Duplicate key"):  # both were read
        Config.fromfile(path)


def test_misspelt_base_names_the_near_ones(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text('_base_ = "csan_mm::_base_/schedules/adamw_1y.py"\n')
    with pytest.raises(UserError, match=r"did you mean csan_mm::_base_/schedules/adamw_1x\.py"):
        Config.fromfile(path)
    with pytest.raises(UserError, match="ships no such config"):
        read_config("csan_mm::../setup.py")


def test_configs_lists_shows_and_copies(tmp_path, capsys):
    assert main(["configs", "retinanet_swin-csan-t_"]) == 0
    assert capsys.readouterr().out.split() == [RETINANET]
    assert main(["configs", "retinanet_swin-csan-t_fpn_1x_coco", "--show", "--copy", str(tmp_path / "mine.py")]) == 0
    assert "type='csan_mm.SwinCSaN'" in capsys.readouterr().out
    copied = Config.fromfile(tmp_path / "mine.py")
    assert copied._cfg_dict == Config.fromfile(configs_folder() / RETINANET)._cfg_dict
    with pytest.raises(SystemExit) as stop:
        main(["configs", "retinanet_swin-csan-t_fpn_1x_coco", "--copy", str(tmp_path / "mine.py")])
    assert stop.value.code == 2
    with pytest.raises(SystemExit):
        main(["configs", "retinanet", "--show"])
    assert "give one name in full" in capsys.readouterr().err
    assert main(["configs", "zzz"]) == 1
    assert len(shipped_configs()) > 50
