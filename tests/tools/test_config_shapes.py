"""test.py with --show-dir and --out on the shapes of config that people have: a wrapped test set, types as classes."""

from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config
from PIL import Image
from pure_python import pure_python_segmentor

from csan_mm.analysis.models import build_model

WRAPPERS = {
    "repeated": lambda part: repeated(part),
    "balanced": lambda part: {"type": "ClassBalancedDataset", "oversample_thr": 0.9, "dataset": part},
    "joined": lambda part: {"type": "ConcatDataset", "datasets": [part, part]},
    "repeated and joined": lambda part: {"type": "ConcatDataset", "datasets": [repeated(part), part]},
}

#: Its data set is wrapped; braces are filled by the test.
PURE_PYTHON = """
from mmengine.dataset import DefaultSampler, RepeatDataset
from mmengine.runner import TestLoop
from mmseg.evaluation import IoUMetric

part = dict(
    type=BaseSegDataset,
    metainfo=dict(classes=tuple("abcdefghijk"), palette=[[i, 2 * i, 3 * i] for i in range(11)]),
    data_prefix=dict(img_path={images!r}, seg_map_path={labels!r}),
    img_suffix={suffix!r},
    pipeline=steps,
)
test_dataloader = dict(
    batch_size=2,
    num_workers=0,
    sampler=dict(type=DefaultSampler, shuffle=False),
    dataset=dict(type=RepeatDataset, times=2, dataset=part),
)
test_evaluator = dict(type=IoUMetric, iou_metrics=["mIoU"])
test_cfg = dict(type=TestLoop)
"""


def repeated(part: dict) -> dict:
    return {"type": "RepeatDataset", "times": 2, "dataset": part}


def pictures(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.*"))


def save_started(cfg: Config, path: Path) -> None:
    """A checkpoint of the model as it starts: what is drawn matters here, not how well."""
    torch.save({"state_dict": build_model(cfg).state_dict(), "meta": {}}, path)


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapped_test_set_is_drawn_and_written(tool, tiny_config, tmp_path, name):
    """One picture an image, however often and through however many wrappers the image comes."""
    cfg = Config.fromfile(tiny_config())
    save_started(cfg, tmp_path / "started.pth")
    inner = cfg.test_dataloader.dataset
    cfg.test_dataloader.dataset = WRAPPERS[name](inner)
    cfg.dump("wrapped.py")
    options = ("--work-dir", "w", "--out", "o.pkl", "--show-dir", "drawn")
    ended = tool("test.py", "wrapped.py", "started.pth", *options)
    assert ended.code == 0, ended.err
    images = pictures(Path(inner.data_root) / "val")
    assert len(images) == 10
    assert pictures(tmp_path / "drawn") == images
    assert (tmp_path / "o.pkl").stat().st_size > 0


def test_a_pure_python_config_is_drawn_and_written(tool, digits_root, tmp_path):
    images, labels = (next((digits_root / "ade20k" / kind).glob("val*")) for kind in ("images", "annotations"))
    suffix = next(images.iterdir()).suffix
    data = PURE_PYTHON.format(images=str(images), labels=str(labels), suffix=suffix)
    (tmp_path / "pure.py").write_text(pure_python_segmentor(num_classes=11) + data)
    cfg = Config.fromfile(tmp_path / "pure.py")
    save_started(cfg, tmp_path / "pure.pth")
    ended = tool("test.py", "pure.py", "pure.pth", "--work-dir", "w", "--out", "maps", "--show-dir", "drawn")
    assert ended.code == 0, ended.err
    assert pictures(tmp_path / "maps") == pictures(images) == pictures(tmp_path / "drawn")
    label = np.asarray(Image.open(next((tmp_path / "maps").rglob("*.png"))))
    assert label.dtype == np.uint8
    assert label.max() < 11
