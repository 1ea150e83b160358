"""The three forms on disk, read with plain tools and with the OpenMMLab data sets they are made for."""

import json

import numpy as np
import pytest
from PIL import Image
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO

from csan_mm.datasets import DIGITS_CLASSES, DIGITS_METAINFO, DIGITS_SEG_METAINFO
from csan_mm.datasets.digits_writers import encode_mask

SPLITS = ("train", "val")
COUNTS = {"train": 12, "val": 11}
ADE_NAMES = {"train": "training", "val": "validation"}


def read(path):
    return np.asarray(Image.open(path))


def coco_file(root, split):
    return json.loads((root / "coco" / "annotations" / f"instances_{split}.json").read_text())


def test_mask_code_is_text_and_exact():
    mask = np.random.default_rng(0).random((13, 29)) < 0.5
    code = json.loads(json.dumps(encode_mask(mask)))
    assert code["counts"].isascii()
    assert code["size"] == [13, 29]
    assert np.array_equal(coco_mask.decode(code).astype(bool), mask)


@pytest.mark.parametrize("split", SPLITS)
def test_coco_form_holds_what_the_generator_drew(small_digits, small_generator, split):
    content = coco_file(small_digits, split)
    assert [image["id"] for image in content["images"]] == list(range(1, COUNTS[split] + 1))
    assert [item["id"] for item in content["annotations"]] == list(range(1, len(content["annotations"]) + 1))
    assert [category["name"] for category in content["categories"]] == list(DIGITS_CLASSES)
    for index, image in enumerate(content["images"]):
        scene = small_generator.scene(split, index)
        assert (image["height"], image["width"]) == (96, 128)
        assert np.array_equal(read(small_digits / "coco" / split / image["file_name"]), scene.image)
        items = [item for item in content["annotations"] if item["image_id"] == image["id"]]
        assert len(items) == len(scene.instances)
        for item, instance in zip(items, scene.instances):
            assert np.array_equal(coco_mask.decode(item["segmentation"]).astype(bool), instance.mask)
            assert item["bbox"] == coco_mask.toBbox(item["segmentation"]).tolist() == list(instance.box)
            assert item["area"] == coco_mask.area(item["segmentation"]) == instance.mask.sum()
            assert (item["category_id"], item["iscrowd"]) == (instance.label + 1, 0)


def test_splits_share_no_handwriting(small_digits):
    train, val = ({item["source_index"] for item in coco_file(small_digits, split)["annotations"]} for split in SPLITS)
    assert train
    assert val
    assert not train & val


def test_pycocotools_reads_and_scores_the_truth_as_perfect(small_digits):
    """Truth as detections must give AP 1: ids, areas, boxes and codes are what the evaluation expects."""
    from pycocotools.cocoeval import COCOeval

    truth = COCO(str(small_digits / "coco" / "annotations" / "instances_val.json"))
    detections = [
        {key: item[key] for key in ("image_id", "category_id", "segmentation", "bbox")} | {"score": 0.9}
        for item in truth.dataset["annotations"]
    ]
    for kind in ("bbox", "segm"):
        evaluation = COCOeval(truth, truth.loadRes(detections), kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        assert evaluation.stats[0] == pytest.approx(1.0)


@pytest.mark.parametrize("split", SPLITS)
def test_ade20k_form_agrees_with_the_instance_masks(small_digits, split):
    content = coco_file(small_digits, split)
    folder = small_digits / "ade20k"
    images = sorted((folder / "images" / ADE_NAMES[split]).iterdir())
    labels = sorted((folder / "annotations" / ADE_NAMES[split]).iterdir())
    assert [path.stem for path in images] == [path.stem for path in labels]
    assert len(images) == COUNTS[split]
    for image, path, jpeg in zip(content["images"], labels, images):
        expected = np.zeros((96, 128), dtype=np.uint8)
        for item in content["annotations"]:
            if item["image_id"] == image["id"]:
                expected[coco_mask.decode(item["segmentation"]) > 0] = item["category_id"]
        assert Image.open(path).mode == "L"
        assert np.array_equal(read(path), expected)
        png = read(small_digits / "coco" / split / image["file_name"]).astype(int)
        assert np.abs(read(jpeg).astype(int) - png).mean() < 3  # the same picture, but for JPEG


@pytest.mark.parametrize("split", SPLITS)
def test_imagenet_form_has_balanced_class_folders(small_digits, small_generator, split):
    folder = small_digits / "imagenet" / split
    assert sorted(path.name for path in folder.iterdir()) == list(DIGITS_CLASSES)
    counts = [len(list((folder / name).iterdir())) for name in DIGITS_CLASSES]
    assert sum(counts) == COUNTS[split]
    assert max(counts) - min(counts) <= 1
    for index in range(COUNTS[split]):
        path = folder / DIGITS_CLASSES[index % 10] / f"{index + 1:06d}.png"
        assert np.array_equal(read(path), small_generator.crop(split, index).image)


def test_mmdet_reads_the_coco_form_with_masks_through_a_training_pipeline(small_digits, small_generator):
    pytest.importorskip("mmdet")
    from mmdet.datasets import CocoDataset
    from mmdet.utils import register_all_modules

    register_all_modules(init_default_scope=False)
    pipeline = [
        {"type": "mmdet.LoadImageFromFile"},
        {"type": "mmdet.LoadAnnotations", "with_bbox": True, "with_mask": True},
        {"type": "mmdet.Resize", "scale": (256, 192), "keep_ratio": True},
        {"type": "mmdet.RandomFlip", "prob": 1.0},
        {"type": "mmdet.PackDetInputs"},
    ]
    dataset = CocoDataset(
        data_root=str(small_digits / "coco"),
        ann_file="annotations/instances_train.json",
        data_prefix={"img": "train/"},
        metainfo=DIGITS_METAINFO,
        filter_cfg={"filter_empty_gt": True, "min_size": 1},
        pipeline=pipeline,
    )
    assert len(dataset) == 12
    for index in range(12):
        sample, scene = dataset[index]["data_samples"], small_generator.scene("train", index)
        assert sample.gt_instances.labels.tolist() == [instance.label for instance in scene.instances]
        assert len(sample.ignored_instances) == 0
        masks = sample.gt_instances.masks.masks.astype(bool)
        for mask, box, instance in zip(masks, sample.gt_instances.bboxes.tensor.tolist(), scene.instances):
            x, y, width, height = instance.box
            assert box == [256 - 2 * (x + width), 2 * y, 256 - 2 * x, 2 * (y + height)]  # doubled and mirrored
            assert np.array_equal(mask[::2, ::-1][:, ::2], instance.mask)


@pytest.mark.parametrize(
    ("metainfo", "reduce_zero_label"), [(DIGITS_SEG_METAINFO, False), (DIGITS_METAINFO, True)], ids=["11", "10-ignore"]
)
def test_mmseg_reads_the_ade20k_form(small_digits, small_generator, metainfo, reduce_zero_label):
    pytest.importorskip("mmseg")
    from mmseg.datasets import BaseSegDataset
    from mmseg.utils import register_all_modules

    register_all_modules(init_default_scope=False)
    dataset = BaseSegDataset(
        data_root=str(small_digits / "ade20k"),
        data_prefix={"img_path": "images/training", "seg_map_path": "annotations/training"},
        metainfo=metainfo,
        reduce_zero_label=reduce_zero_label,
        pipeline=[
            {"type": "mmseg.LoadImageFromFile"},
            {"type": "mmseg.LoadAnnotations", "reduce_zero_label": reduce_zero_label},
            {"type": "mmseg.PackSegInputs"},
        ],
    )
    assert len(dataset) == 12
    for index in range(12):
        labels = dataset[index]["data_samples"].gt_sem_seg.data[0].numpy()
        expected = small_generator.scene("train", index).label_map
        if reduce_zero_label:
            expected = np.where(expected == 0, 255, expected - 1)
        assert np.array_equal(labels, expected)


@pytest.mark.parametrize("kind", ["CustomDataset", "ImageNet"])
def test_mmpretrain_reads_the_imagenet_form(small_digits, small_generator, kind):
    pytest.importorskip("mmpretrain")
    from mmpretrain import datasets
    from mmpretrain.utils import register_all_modules

    register_all_modules(init_default_scope=False)
    pipeline = [{"type": "mmcv.LoadImageFromFile"}, {"type": "mmpretrain.PackInputs"}]
    for split in SPLITS:
        dataset = getattr(datasets, kind)(
            data_root=str(small_digits / "imagenet"),
            data_prefix=split,
            metainfo={"classes": DIGITS_CLASSES},
            pipeline=pipeline,
        )
        assert len(dataset) == COUNTS[split]
        seen = {
            tuple(item["img_path"].rsplit("/", 2)[1:]): item["gt_label"]
            for item in map(dataset.get_data_info, range(len(dataset)))
        }
        assert all(int(folder) == label for (folder, _), label in seen.items())
        sample = dataset[0]  # class 0, the first file: image 0 of the generator, in BGR
        assert sample["data_samples"].gt_label.tolist() == [0]
        assert np.array_equal(sample["inputs"].numpy()[::-1].transpose(1, 2, 0), small_generator.crop(split, 0).image)
