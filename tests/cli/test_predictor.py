"""What infer writes: masks in COCO's form, videos frame by frame, and configs of every shape."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.structures import InstanceData
from pure_python import pure_python_segmentor
from pycocotools import mask as coco_mask

from csan_mm.analysis.models import build_model
from csan_mm.cli.predictor import Predictor, run_lengths
from csan_mm.cli.video import predict_video
from csan_mm.common.config_types import library_of, type_name
from csan_mm.common.errors import UserError

ARCH = {"embed_dims": 16, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 4, 4)}
WIDTHS = [16, 32, 64, 128]

#: Its data set is wrapped twice.
PURE_PYTHON = (
    pure_python_segmentor(num_classes=3)
    + """
from mmengine.dataset import ConcatDataset, RepeatDataset

part = dict(type=BaseSegDataset, metainfo=dict(classes=("sky", "sea", "sand"), palette=[[1, 2, 3]] * 3), pipeline=steps)
test_dataloader = dict(dataset=dict(type=ConcatDataset, datasets=[dict(type=RepeatDataset, times=2, dataset=part), part]))
"""
)


def ready(cfg: Config, folder: Path, **about) -> tuple[Config, str]:
    path = folder / "model.pth"
    torch.save({"state_dict": build_model(cfg).state_dict(), "meta": about}, path)
    return cfg, str(path)


@pytest.fixture(scope="module")
def detector(repo_root, tmp_path_factory) -> tuple[Config, str]:
    cfg = Config.fromfile(repo_root / "configs/digits/retinanet_swin-csan-c48_fpn_12e_digits.py")
    cfg.merge_from_dict({"model.backbone.arch": ARCH, "model.neck.in_channels": WIDTHS})
    return ready(cfg, tmp_path_factory.mktemp("detector"))


@pytest.fixture(scope="module")
def mask_rcnn(repo_root, tmp_path_factory) -> tuple[Config, str]:
    cfg = Config.fromfile(repo_root / "configs/csan/mask-rcnn_swin-csan-t_fpn_1x_coco.py")
    cfg.model.backbone.update(arch=ARCH, init_cfg=None)
    cfg.model.neck.in_channels = WIDTHS
    cfg.merge_from_dict({"model.test_cfg.rcnn.max_per_img": 3, "model.test_cfg.rcnn.score_thr": 0.0})
    cfg.test_dataloader.dataset.pipeline[1].scale = (160, 96)
    return ready(cfg, tmp_path_factory.mktemp("mask-rcnn"))


def test_run_lengths_are_cocos():
    mask = np.random.default_rng(0).random((13, 31)) > 0.5
    written = json.loads(json.dumps(run_lengths(mask)))
    assert written["size"] == [13, 31]
    assert (coco_mask.decode(written) == mask).all()
    assert coco_mask.area(written) == mask.sum()
    assert coco_mask.decode(run_lengths(np.zeros((2, 3), dtype=bool))).sum() == 0


def test_masks_of_mask_rcnn(mask_rcnn, tmp_path):
    predictor = Predictor(*mask_rcnn, "cpu", score_thr=0.0)
    image = np.full((50, 90, 3), 128, dtype=np.uint8)
    (result,) = predictor([predictor.prepare(image)])
    predictor.write(Path("more/p0.jpg"), Path("more/p0"), image, result, tmp_path)
    found = json.loads((tmp_path / "preds/more/p0.json").read_text())
    assert found["image"] == "more/p0.jpg"
    assert len(found["detections"]) == len(result.pred_instances) == 3
    for entry, mask in zip(found["detections"], result.pred_instances.masks):
        assert entry["segmentation"]["size"] == [50, 90]
        assert (coco_mask.decode(entry["segmentation"]) == mask.numpy()).all()
    assert cv2.imread(str(tmp_path / "vis/more/p0.png")).shape[1] >= 90


def film(path: Path, shades: list[int], size: tuple[int, int] = (64, 48), rate: int = 10) -> None:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), rate, size)
    for shade in shades:
        writer.write(np.full((size[1], size[0], 3), shade, dtype=np.uint8))
    writer.release()


def test_a_video_frame_by_frame(detector, tmp_path, monkeypatch):
    predictor = Predictor(*detector, "cpu", score_thr=0.5)
    film(tmp_path / "clip.mp4", [10, 90, 170, 250, 30])
    alive, most, seen = [0], [0], []

    def predict(inputs):
        """One box, whose side tells the frame's shade."""
        seen.append(len(inputs))
        results = [item["data_samples"] for item in inputs]
        for item, result in zip(inputs, results):
            shade = float(item["inputs"].float().mean())
            box = torch.tensor([[0.0, 0.0, shade / 5, 9.0]])
            result.pred_instances = InstanceData(
                bboxes=box, scores=torch.ones(1), labels=torch.zeros(1, dtype=torch.int)
            )
        return results

    prepare = predictor.prepare

    def counted(image):
        item = prepare(image)
        alive[0] += 1
        most[0] = max(most[0], alive[0])
        __import__("weakref").finalize(item["inputs"], lambda: alive.__setitem__(0, alive[0] - 1))
        return item

    monkeypatch.setattr(predictor, "prepare", counted)
    monkeypatch.setattr(Predictor, "__call__", lambda self, inputs: predict(inputs))
    assert predict_video(predictor, tmp_path / "clip.mp4", Path("clip.mp4"), Path("clip"), tmp_path / "out", 2) == []
    assert seen == [2, 2, 1]
    assert most[0] <= 4  # two batches at the most, however long the film
    lines = [json.loads(line) for line in (tmp_path / "out/preds/clip.jsonl").read_text().splitlines()]
    assert [(line["frame"], line["time"]) for line in lines] == [(0, 0.0), (1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4)]
    widths = [line["detections"][0]["bbox"][2] for line in lines]
    assert widths == pytest.approx([2, 18, 34, 50, 6], abs=1.5)
    drawn = cv2.VideoCapture(str(tmp_path / "out/vis/clip.mp4"))
    assert drawn.get(cv2.CAP_PROP_FPS) == 10
    frames = []
    while (frame := drawn.read()[1]) is not None:
        frames.append(frame)
    assert [frame.shape for frame in frames] == [(48, 64, 3)] * 5
    assert [float(frame[30:, 55:].mean()) for frame in frames] == pytest.approx([10, 90, 170, 250, 30], abs=12)
    assert [path.name for path in (tmp_path / "out/vis").iterdir()] == ["clip.mp4"]


def test_no_video(detector, tmp_path):
    predictor = Predictor(*detector, "cpu", score_thr=0.5)
    (tmp_path / "bad.mp4").write_bytes(b"no film")
    (reason,) = predict_video(predictor, tmp_path / "bad.mp4", Path("bad.mp4"), Path("bad"), tmp_path / "out")
    assert reason == f"{tmp_path / 'bad.mp4'} is not a readable video (no frame can be decoded): skipped"
    assert not (tmp_path / "out").exists()


def wrapped(dataset: dict, kind: str) -> dict:
    if kind == "ConcatDataset":
        return {"type": kind, "datasets": [dataset, dataset]}
    options = {"RepeatDataset": {"times": 2}, "ClassBalancedDataset": {"oversample_thr": 0.1}}[kind]
    return {"type": kind, "dataset": dataset, **options}


@pytest.mark.parametrize(
    "change", ["ConcatDataset", "RepeatDataset", "ClassBalancedDataset", "no test set", "no data", "no visualizer"]
)
def test_every_shape_of_config(detector, change):
    cfg, checkpoint = Config(detector[0].to_dict()), detector[1]
    if change == "no test set":
        cfg.test_dataloader = cfg.test_cfg = cfg.test_evaluator = None
    elif change == "no data":
        pipeline = cfg.pop("test_pipeline")
        cfg.test_dataloader = cfg.val_dataloader = cfg.train_dataloader = None
        with pytest.raises(UserError, match="set test_pipeline, or a test_dataloader"):
            Predictor(cfg, checkpoint, "cpu", 0.0)
        cfg.test_pipeline = pipeline
    elif change == "no visualizer":
        cfg.visualizer = None
    else:
        cfg.test_dataloader.dataset = wrapped(cfg.test_dataloader.dataset, change)
    predictor = Predictor(cfg, checkpoint, "cpu", 0.0)
    image = np.zeros((20, 30, 3), dtype=np.uint8)
    (result,) = predictor([predictor.prepare(image)])
    found = predictor.describe(result, Path("none.png"))["detections"]
    assert {entry["class"] for entry in found} <= set("0123456789")
    assert predictor.draw(image, result).shape[2] == 3


def test_a_pure_python_config_whose_types_are_classes(tmp_path):
    (tmp_path / "pure.py").write_text(PURE_PYTHON)
    cfg = Config.fromfile(tmp_path / "pure.py")
    assert library_of(cfg) == "mmseg"
    predictor = Predictor(*ready(cfg, tmp_path), "cpu", 0.0)
    image = np.zeros((20, 30, 3), dtype=np.uint8)
    (result,) = predictor([predictor.prepare(image)])
    predictor.write(Path("a.png"), Path("a"), image, result, tmp_path / "out")
    found = json.loads((tmp_path / "out/preds/a.json").read_text())
    assert set(found["classes"]) <= {"sky", "sea", "sand"}
    assert cv2.imread(str(tmp_path / "out/preds" / found["label_map"]), -1).shape == (20, 30)


def test_types_by_name():
    assert [type_name(kind) for kind in ("mmdet.RandomCrop", "RandomCrop", Config)] == [
        "RandomCrop",
        "RandomCrop",
        "Config",
    ]
    assert library_of(Config({"model": {"type": "mmdet.RetinaNet"}})) == "mmdet"
    assert library_of(Config({"model": {"type": "RetinaNet"}})) is None
