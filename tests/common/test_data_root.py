"""``data_root`` given once reaches data sets, wrapped data sets and metrics."""

import pytest
from mmengine.config import Config, ConfigDict

from csan_mm.common.data_root import override_data_root


def strings(value: object) -> list[str]:
    """All strings in nested dicts and lists."""
    if isinstance(value, dict):
        return [text for entry in value.values() for text in strings(entry)]
    if isinstance(value, (list, tuple)):
        return [text for entry in value for text in strings(entry)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("old", ["data/coco/", "data/coco"])
@pytest.mark.parametrize("new", ["/datasets/coco/", "/datasets/coco"])
def test_rewrites_what_lies_in_the_old_root(old: str, new: str) -> None:
    cfg = Config(
        {
            "data_root": old,
            "train_dataloader": {
                "dataset": {"type": "RepeatDataset", "dataset": {"data_root": old, "ann_file": "a.json"}}
            },
            "val_evaluator": [{"type": "CocoMetric", "ann_file": "data/coco/annotations/val.json"}],
            "work_dir": "data/coco-runs",
            "scales": [(1333, 800)],
        }
    )
    override_data_root(cfg, old, new)
    inner = cfg.train_dataloader.dataset.dataset
    assert cfg.data_root.rstrip("/") == inner.data_root.rstrip("/") == "/datasets/coco"
    assert inner.ann_file == "a.json"
    assert cfg.val_evaluator[0].ann_file == "/datasets/coco/annotations/val.json"
    assert cfg.work_dir == "data/coco-runs"
    assert cfg.scales == [(1333, 800)]
    assert isinstance(inner, ConfigDict)


@pytest.mark.parametrize(
    "name",
    [
        "csan/mask-rcnn_swin-csan-t_fpn_1x_coco.py",
        "csan/swin-csan-t_upernet_8xb2-160k_ade20k-512x512.py",
        "csan/swin-csan-t_8xb256_in1k.py",
        "digits/retinanet_swin-csan-c48_fpn_12e_digits.py",
    ],
)
def test_nothing_of_a_shipped_config_stays_behind(name: str, repo_root) -> None:
    cfg = Config.fromfile(repo_root / "configs" / name)
    override_data_root(cfg, cfg.data_root, "/elsewhere")
    assert not [text for text in strings(cfg.to_dict()) if "data/" in text]
    assert cfg.train_dataloader.dataset.data_root.startswith("/elsewhere")
