"""Reading a config as the command line asks for it."""

import argparse
from pathlib import Path

import pytest

from csan_mm.common.config import WORKER_SETTINGS, load_config
from csan_mm.common.package_configs import configs_folder

LOADERS = """
model = dict(type='X')
train_dataloader = dict(batch_size=2, num_workers=2, persistent_workers=True, prefetch_factor=4)
val_dataloader = dict(batch_size=1, persistent_workers=True, timeout=30, multiprocessing_context='spawn')
test_dataloader = [
    dict(num_workers=0, persistent_workers=True),
    dict(num_workers=1),
    dict(num_workers=1, persistent_workers=False),
]
"""


@pytest.mark.parametrize("workers", [2, 0])
def test_settings_of_workers_go_where_there_are_none(tmp_path: Path, workers: int):
    path = tmp_path / "c.py"
    path.write_text(LOADERS)
    options = [f"train_dataloader.num_workers={workers}"]
    cfg = load_config(argparse.Namespace(config=str(path), cfg_options=options, work_dir=None, launcher="none"))
    left = {"persistent_workers", "prefetch_factor"} if workers else set()
    assert WORKER_SETTINGS & set(cfg.train_dataloader) == left
    assert set(cfg.val_dataloader) == {"batch_size"}
    assert [dict(loader) for loader in cfg.test_dataloader] == [
        {"num_workers": 0},
        {"num_workers": 1, "persistent_workers": True},
        {"num_workers": 1, "persistent_workers": False},
    ]


def test_shipped_configs_run_without_workers_in_other_tools():
    """mmdet's own train.py, say, leaves alone what a config says of workers, and torch refuses that without any."""
    texts = [path.read_text() for path in configs_folder().rglob("*.py")]
    assert len(texts) > 100
    assert not [setting for setting in WORKER_SETTINGS for text in texts if f"{setting}=" in text]
