"""Random damage to a good COCO file: preflight objects, or training, evaluation and infer go through, with a small Mask R-CNN."""

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mmdet.datasets import CocoDataset
from mmdet.evaluation import CocoMetric
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmengine.model import BaseModel
from mmengine.registry import init_default_scope
from mmengine.structures import InstanceData
from PIL import Image
from pycocotools import mask as mask_utils

from csan_mm.analysis.models import build_model
from csan_mm.cli.infer import predict_all
from csan_mm.cli.pictures import find_images
from csan_mm.cli.predictor import Predictor
from csan_mm.common.findings import Severity
from csan_mm.common.result_names import short_names
from csan_mm.preflight.coco import AnnotationFile, check_annotation_file
from csan_mm.preflight.datasets import OpenedDataset
from csan_mm.preflight.evaluators import CocoEvaluation

SIZE = (24, 32)
CLASSES = ("cat", "dog")


def good_file() -> dict[str, list]:
    """Three images with polygons, both kinds of run-length masks, a crowd, and an image without annotations."""
    height, width = SIZE
    square = np.zeros(SIZE, dtype=np.uint8, order="F")
    square[4:12, 6:16] = 1
    encoded = mask_utils.encode(square)
    compressed = {"size": [height, width], "counts": encoded["counts"].decode()}
    runs = {"size": [height, width], "counts": [height * 4, height * 8, height * (width - 12)]}
    polygons = [[2, 2, 12, 2, 12, 9.5], [14, 4, 20, 4, 20, 12, 14, 12]]
    masks = [polygons, compressed, runs, polygons[:1]]
    return {
        "images": [
            {"id": number + 1, "file_name": f"{number}.png", "width": width, "height": height} for number in range(3)
        ],
        "annotations": [
            {"id": number + 1, "image_id": 1 + number % 2, "category_id": 3 + 4 * (number % 2), "bbox": [2, 2, 18, 10],
             "area": 90.5, "iscrowd": int(number == 2), "segmentation": mask}
            for number, mask in enumerate(masks)
        ],
        "categories": [{"id": 3, "name": "cat"}, {"id": 7, "name": "dog", "supercategory": "pet"}],
    }  # fmt: skip


#: What people's scripts write in place of a value.
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.sampled_from(
        [2**31, 2**63, -(2**40), 1e-9, 1e9, 1e39, 3.5, 7.0, float("nan"), float("inf"), "", "3", "cat", "PPYo1"]
    ),
    st.lists(st.one_of(st.integers(-2, 30), st.none(), st.just("x")), max_size=7),
    st.just({}),
    st.just([[1, 1, 9, 1]]),
    st.just([[]]),
    st.just({"size": [24, 32], "counts": "garbage"}),
    st.just({"size": [24, 32], "counts": [700, 60]}),
    st.just({"size": [24, 32], "counts": []}),
)


def places(part: Any, path: tuple = ()) -> list[tuple]:
    """Every place of a JSON value, from the whole down to single numbers."""
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    return [path, *(inner for key, value in items for inner in places(value, (*path, key)))]


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A good file with one to three places changed, left out or doubled."""
    content = copy.deepcopy(good_file())
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([place for place in places(content) if place] or [()]))
        if not path:
            break
        holder = content
        for key in path[:-1]:
            holder = holder[key]
        action = draw(st.sampled_from(["change", "change", "change", "remove", "double"]))
        if action == "remove":
            del holder[path[-1]]
        elif action == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
        else:
            holder[path[-1]] = copy.deepcopy(draw(VALUES))
    return content


def dataset(root: Path, test_mode: bool, lazy: bool) -> CocoDataset:
    resize = {"type": "Resize", "scale": (48, 36), "keep_ratio": True}
    load = [{"type": "LoadImageFromFile"}]
    annotations = {"type": "LoadAnnotations", "with_bbox": True, "with_mask": True}
    train = [*load, annotations, resize, {"type": "RandomFlip", "prob": 0.5}, {"type": "PackDetInputs"}]
    test = [*load, resize, annotations, {"type": "PackDetInputs"}]
    return CocoDataset(
        data_root=str(root),
        ann_file="a.json",
        data_prefix={"img": ""},
        metainfo={"classes": CLASSES},
        filter_cfg={"filter_empty_gt": True, "min_size": 8},
        pipeline=test if test_mode else train,
        test_mode=test_mode,
        lazy_init=lazy,
    )


def objects(root: Path) -> bool:
    """Whether preflight calls anything about the file or its images a fault."""
    path = str(root / "a.json")
    opened = [OpenedDataset(name, {}, dataset(root, name == "test", lazy=True)) for name in ("train", "test")]
    scored = [CocoEvaluation("test_evaluator", path, ("bbox", "segm"), False, CLASSES)]
    findings = list(check_annotation_file(AnnotationFile(path, opened, scored)))
    return any(finding.severity is Severity.FAULT for finding in findings)


def train(root: Path, model: BaseModel) -> None:
    """Load and transform every training image, and take the gradients of the losses over all of them."""
    data = dataset(root, test_mode=False, lazy=False)
    samples = [data[index] for index in range(len(data))]
    instances = [sample["data_samples"].gt_instances for sample in samples]
    assert any(len(part) for part in instances)
    assert all(torch.isfinite(part.bboxes.tensor).all() for part in instances)
    assert all((part.labels < len(CLASSES)).all() for part in instances)
    model.train().zero_grad()
    losses = model(**model.data_preprocessor(pseudo_collate(samples), training=True), mode="loss")
    total, _ = model.parse_losses(losses)
    total.backward()
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    assert len(gradients) > 50
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def evaluate(root: Path) -> None:
    """Predict something for every test image, and score it."""
    metric = CocoMetric(str(root / "a.json"), metric=["bbox", "segm"])
    test = dataset(root, test_mode=True, lazy=False)
    metric.dataset_meta = test.metainfo
    for index in range(len(test)):
        sample = test[index]["data_samples"]
        masks = torch.zeros(2, *sample.ori_shape, dtype=torch.bool)
        masks[:, 4:12, 6:16] = True
        boxes = torch.tensor([[6.0, 4.0, 16.0, 12.0], [2.0, 2.0, 20.0, 12.0]])
        sample.pred_instances = InstanceData(
            bboxes=boxes, scores=torch.tensor([0.9, 0.8]), labels=torch.tensor([0, 1]), masks=masks
        )
        metric.process({}, [sample.to_dict()])
    figures = metric.evaluate(len(test))
    assert figures["coco/bbox_mAP"] >= 0
    assert figures["coco/segm_mAP"] >= 0


def infer(root: Path, predictor: Predictor) -> None:
    """Predict on the images that the file names, where it names them, as ``csan_mm infer`` does."""
    data = dataset(root, test_mode=True, lazy=False)
    files = sorted({Path(data.get_data_info(index)["img_path"]) for index in range(len(data))})
    found = find_images([str(file) for file in files])
    results = dict(zip((file for file, _ in found), short_names([name for _, name in found])))
    predictor.model.eval()
    with tempfile.TemporaryDirectory() as out:
        assert predict_all(predictor, found, results, Path(out), batch_size=2) == []
        written = [json.loads(path.read_text()) for path in Path(out, "preds").rglob("*.json")]
    assert len(written) == len(files)
    assert all(entry["class"] in CLASSES for answer in written for entry in answer["detections"])


def go_through(root: Path, predictor: Predictor) -> None:
    """All that a user does with a file that preflight had nothing against."""
    train(root, predictor.model)
    evaluate(root)
    infer(root, predictor)


@pytest.fixture(scope="module")
def predictor(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    """A small Mask R-CNN that finds something everywhere."""
    cfg = Config.fromfile(repo_root / "configs/csan/mask-rcnn_swin-csan-t_fpn_1x_coco.py")
    arch = {"embed_dims": 16, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 4, 4)}
    cfg.model.backbone.update(arch=arch, init_cfg=None)
    cfg.model.neck.update(in_channels=[16, 32, 64, 128], out_channels=32)
    cfg.merge_from_dict(
        {
            "model.rpn_head.in_channels": 32,
            "model.rpn_head.feat_channels": 32,
            "model.roi_head.bbox_roi_extractor.out_channels": 32,
            "model.roi_head.bbox_head": {"in_channels": 32, "fc_out_channels": 64, "num_classes": len(CLASSES)},
            "model.roi_head.mask_roi_extractor.out_channels": 32,
            "model.roi_head.mask_head": {"in_channels": 32, "conv_out_channels": 32, "num_classes": len(CLASSES)},
            "model.test_cfg.rcnn": {"max_per_img": 3, "score_thr": 0.0},
        }
    )
    for loader in (cfg.train_dataloader, cfg.test_dataloader, cfg.val_dataloader):
        loader.dataset.metainfo = {"classes": CLASSES, "palette": [(1, 2, 3), (4, 5, 6)]}
    for step in cfg.test_dataloader.dataset.pipeline:
        if step["type"] == "Resize":
            step["scale"] = (48, 36)
    path = tmp_path_factory.mktemp("model") / "model.pth"
    torch.save({"state_dict": build_model(cfg).state_dict(), "meta": {}}, path)
    return Predictor(cfg, str(path), "cpu", score_thr=0.0)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    init_default_scope("mmdet")
    folder = tmp_path_factory.mktemp("damage")
    pixels = np.random.default_rng(0).integers(0, 255, (*SIZE, 3), dtype=np.uint8)
    for number in range(3):
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


def objects_or_goes_through(root: Path, predictor: Predictor, text: bytes) -> None:
    (root / "a.json").write_bytes(text)
    init_default_scope("mmdet")
    if not objects(root):
        go_through(root, predictor)


def test_the_good_file_goes_through(root, predictor):
    (root / "a.json").write_text(json.dumps(good_file()))
    assert not objects(root)
    go_through(root, predictor)


CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=60, deadline=None, suppress_health_check=CHECKS, print_blob=True)
@given(damaged())
def test_preflight_objects_or_all_goes_through(root, predictor, content):
    objects_or_goes_through(root, predictor, json.dumps(content).encode())


@pytest.mark.slow
@settings(max_examples=3000, deadline=None, suppress_health_check=CHECKS, print_blob=True)
@given(damaged())
def test_preflight_objects_or_all_goes_through_long(root, predictor, content):
    objects_or_goes_through(root, predictor, json.dumps(content).encode())


@settings(max_examples=60, deadline=None, suppress_health_check=CHECKS, print_blob=True)
@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1, max_size=3))
def test_damaged_bytes(root, predictor, changes):
    raw = bytearray(json.dumps(good_file()).encode())
    for place, byte in changes:
        raw[place % len(raw)] = byte
    objects_or_goes_through(root, predictor, bytes(raw))
