"""Random damage to a good COCO file: preflight objects, or training's pipeline, the data set and the metric go through."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mmdet.datasets import CocoDataset
from mmdet.evaluation import CocoMetric
from mmengine.registry import init_default_scope
from mmengine.structures import InstanceData
from PIL import Image
from pycocotools import mask as mask_utils

from csan_mm.common.findings import Severity
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


#: What people's scripts write in the place of a value.
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


def go_through(root: Path) -> None:
    """Load and transform every training image, predict something for every test image, and score it."""
    train = dataset(root, test_mode=False, lazy=False)
    instances = [train[index]["data_samples"].gt_instances for index in range(len(train))]
    assert any(len(part) for part in instances)
    assert all(torch.isfinite(part.bboxes.tensor).all() for part in instances)
    assert all((part.labels < len(CLASSES)).all() for part in instances)
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


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    init_default_scope("mmdet")
    folder = tmp_path_factory.mktemp("damage")
    pixels = np.random.default_rng(0).integers(0, 255, (*SIZE, 3), dtype=np.uint8)
    for number in range(3):
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


def objects_or_goes_through(root: Path, content: Any) -> None:
    (root / "a.json").write_text(json.dumps(content))
    init_default_scope("mmdet")
    if not objects(root):
        go_through(root)


def test_the_good_file_goes_through(root):
    (root / "a.json").write_text(json.dumps(good_file()))
    assert not objects(root)
    go_through(root)


CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=60, deadline=None, suppress_health_check=CHECKS, print_blob=True)
@given(damaged())
def test_preflight_objects_or_all_goes_through(root, content):
    objects_or_goes_through(root, content)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None, suppress_health_check=CHECKS, print_blob=True)
@given(damaged())
def test_preflight_objects_or_all_goes_through_long(root, content):
    objects_or_goes_through(root, content)


@settings(max_examples=60, deadline=None, suppress_health_check=CHECKS, print_blob=True)
@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1, max_size=3))
def test_damaged_bytes(root, changes):
    raw = bytearray(json.dumps(good_file()).encode())
    for place, byte in changes:
        raw[place % len(raw)] = byte
    (root / "a.json").write_bytes(bytes(raw))
    init_default_scope("mmdet")
    if not objects(root):
        go_through(root)
