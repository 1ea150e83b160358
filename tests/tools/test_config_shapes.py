"""test.py with --show-dir and --out on the shapes of config that people have: a wrapped test set, types as classes."""

from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import Config
from PIL import Image

from csan_mm.analysis.models import build_model

WRAPPERS = {
    "repeated": {"type": "RepeatDataset", "times": 2},
    "balanced": {"type": "ClassBalancedDataset", "oversample_thr": 0.9},
    "joined": {"type": "ConcatDataset"},
    "repeated and joined": {"type": "ConcatDataset"},
}

#: Read lazily by mmengine: every type is a class, and no default_scope names the library.
PURE_PYTHON = """
from mmcv.transforms import LoadImageFromFile, Resize
from mmengine.dataset import DefaultSampler, RepeatDataset
from mmengine.runner import TestLoop
from mmseg.datasets import BaseSegDataset, LoadAnnotations, PackSegInputs
from mmseg.evaluation import IoUMetric
from mmseg.models import EncoderDecoder, FCNHead, SegDataPreProcessor
from mmseg.visualization import SegLocalVisualizer
from csan_mm.backbones import SwinCSaN

default_scope = None
model = dict(
    type=EncoderDecoder,
    data_preprocessor=dict(type=SegDataPreProcessor, size_divisor=32, pad_val=0, seg_pad_val=255),
    backbone=dict(type=SwinCSaN, arch=dict(embed_dims=16, depths=(1, 1, 1, 1), num_heads=(1, 2, 4, 8))),
    decode_head=dict(type=FCNHead, in_channels=128, in_index=3, channels=16, num_classes=11),
    train_cfg=dict(),
    test_cfg=dict(mode="whole"),
)
test_dataloader = dict(
    batch_size=2,
    num_workers=0,
    sampler=dict(type=DefaultSampler, shuffle=False),
    dataset=dict(
        type=RepeatDataset,
        times=2,
        dataset=dict(
            type=BaseSegDataset,
            metainfo=dict(classes=tuple("abcdefghijk"), palette=[[i, 2 * i, 3 * i] for i in range(11)]),
            data_prefix=dict(img_path={images!r}, seg_map_path={labels!r}),
            img_suffix={suffix!r},
            pipeline=[
                dict(type=LoadImageFromFile),
                dict(type=Resize, scale=(64, 64)),
                dict(type=LoadAnnotations),
                dict(type=PackSegInputs),
            ],
        ),
    ),
)
test_evaluator = dict(type=IoUMetric, iou_metrics=["mIoU"])
test_cfg = dict(type=TestLoop)
visualizer = dict(type=SegLocalVisualizer)
"""


def files_below(folder: Path) -> set[str]:
    return {path.stem for path in folder.rglob("*.png")}


def save_started(cfg: Config, path: Path) -> None:
    """A checkpoint of the model as it starts: what is drawn matters here, not how well."""
    torch.save({"state_dict": build_model(cfg).state_dict(), "meta": {}}, path)


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapped_test_set_is_drawn_and_written(tool, tiny_config, tmp_path, name):
    """One picture an image, however often and through however many wrappers the image comes."""
    cfg = Config.fromfile(tiny_config())
    save_started(cfg, tmp_path / "started.pth")
    inner, wrapper = cfg.test_dataloader.dataset, dict(WRAPPERS[name])
    if wrapper["type"] == "ConcatDataset":
        first = {"type": "RepeatDataset", "times": 2, "dataset": inner} if name.startswith("repeated") else inner
        cfg.test_dataloader.dataset = {**wrapper, "datasets": [first, inner]}
    else:
        cfg.test_dataloader.dataset = {**wrapper, "dataset": inner}
    cfg.dump("wrapped.py")
    options = ("--work-dir", "w", "--out", "o.pkl", "--show-dir", "drawn")
    ended = tool("test.py", "wrapped.py", "started.pth", *options)
    assert ended.code == 0, ended.err
    images = {one.stem for one in (Path(inner.data_root) / "val").rglob("*.*")}
    assert len(images) == 10
    assert files_below(tmp_path / "drawn") == images
    assert (tmp_path / "o.pkl").stat().st_size > 0


def test_a_pure_python_config_is_drawn_and_written(tool, digits_root, tmp_path):
    images, labels = (next((digits_root / "ade20k" / kind).glob("val*")) for kind in ("images", "annotations"))
    suffix = next(images.iterdir()).suffix
    text = PURE_PYTHON
    for key, value in {"images": str(images), "labels": str(labels), "suffix": suffix}.items():
        text = text.replace(f"{{{key}!r}}", repr(value))
    (tmp_path / "pure.py").write_text(text)
    cfg = Config.fromfile(tmp_path / "pure.py")
    save_started(cfg, tmp_path / "pure.pth")
    ended = tool("test.py", "pure.py", "pure.pth", "--work-dir", "w", "--out", "maps", "--show-dir", "drawn")
    assert ended.code == 0, ended.err
    expected = {one.stem for one in images.iterdir()}
    assert files_below(tmp_path / "maps") == expected == files_below(tmp_path / "drawn")
    label = np.asarray(Image.open(next((tmp_path / "maps").rglob("*.png"))))
    assert label.dtype == np.uint8
    assert label.max() < 11
