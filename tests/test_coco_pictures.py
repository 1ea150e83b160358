"""The small COCO that tests train on is COCO's kind: what pycocotools and mmdet read from it."""

from pathlib import Path

import pytest
from coco_pictures import EMPTY, TRAIN_IMAGES, VAL_IMAGES, write_coco
from mmdet.datasets import CocoDataset
from PIL import Image
from pycocotools.coco import COCO


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_coco(tmp_path_factory.mktemp("coco"))


@pytest.mark.parametrize(("split", "count"), [("train", TRAIN_IMAGES), ("val", VAL_IMAGES)])
def test_pycocotools_and_mmdet_agree_with_the_files(root: Path, split: str, count: int) -> None:
    file = root / "annotations" / f"instances_{split}2017.json"
    coco = COCO(str(file))
    assert len(coco.imgs) == count
    assert (max(coco.cats), len(coco.cats)) == (90, 80)
    for image in coco.imgs.values():
        with Image.open(root / f"{split}2017" / image["file_name"]) as picture:
            assert picture.size == (image["width"], image["height"])
    for annotation in coco.anns.values():
        assert coco.annToMask(annotation).sum() > 0
        x, y, width, height = annotation["bbox"]
        image = coco.imgs[annotation["image_id"]]
        assert 0 <= x < x + width <= image["width"]
        assert 0 <= y < y + height <= image["height"]
    assert sum(annotation["iscrowd"] for annotation in coco.anns.values()) == 1
    assert [not coco.getAnnIds(key) for key in coco.imgs] == [place == EMPTY for place in range(count)]
    assert any(len(annotation["segmentation"]) == 2 for annotation in coco.anns.values() if not annotation["iscrowd"])
    dataset = CocoDataset(
        ann_file=str(file), data_prefix={"img": str(root / f"{split}2017")}, pipeline=[], test_mode=True
    )
    assert len(dataset) == count


def test_the_same_each_time(root: Path, tmp_path: Path) -> None:
    again = write_coco(tmp_path / "again")
    files = [path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file()]
    assert len(files) == TRAIN_IMAGES + VAL_IMAGES + 2
    assert all((root / file).read_bytes() == (again / file).read_bytes() for file in files)
