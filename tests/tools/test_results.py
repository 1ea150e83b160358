"""One file for each image in --out and --show-dir, also where cameras number their images alike."""

import json
import shutil

import numpy as np
import pytest
import torch
from mmengine.config import Config
from PIL import Image

from csan_mm.engine.results import LabelMaps, ResultNames

CAMERAS = ("cam1", "cam2")


@pytest.fixture
def two_cameras(digits_root, tmp_path):
    """Two images of one file name in two folders, in COCO's and ADE20K's form."""
    coco = json.loads((digits_root / "coco/annotations/instances_val.json").read_text())
    images = coco["images"][:2]
    coco["images"] = images
    coco["annotations"] = [entry for entry in coco["annotations"] if entry["image_id"] in {i["id"] for i in images}]
    for image, camera in zip(images, CAMERAS):
        old = image["file_name"]
        image["file_name"] = f"{camera}/0001.png"
        target = tmp_path / "coco" / image["file_name"]
        target.parent.mkdir(parents=True)
        shutil.copy(next((digits_root / "coco").rglob(f"val/**/{old}")), target)
    (tmp_path / "val.json").write_text(json.dumps(coco))
    pictures = sorted((digits_root / "ade20k").rglob("images/val*/*.*"))[:2]
    labels = sorted((digits_root / "ade20k").rglob("annotations/val*/*.png"))[:2]
    for kind, files in (("images", pictures), ("labels", labels)):
        for file, camera in zip(files, CAMERAS):
            target = tmp_path / "ade" / kind / camera / f"0001{file.suffix}"
            target.parent.mkdir(parents=True)
            shutil.copy(file, target)
    return tmp_path


@pytest.mark.parametrize("family", ["detection", "segmentation"])
def test_images_of_one_name_in_two_folders(tool, tiny_config, two_cameras, tmp_path, family):
    """Inside a ConcatDataset too, where the data set is one of several."""
    assert tool("train.py", tiny_config(family), "--work-dir", "w").code == 0
    cfg = Config.fromfile(tmp_path / f"{tmp_path.name}_{family}.py")
    data = cfg.test_dataloader.dataset
    data.data_root = ""
    if family == "detection":
        data.update(ann_file=str(two_cameras / "val.json"), data_prefix={"img": str(two_cameras / "coco")})
        cfg.test_evaluator.ann_file = data.ann_file
    else:
        ade = two_cameras / "ade"
        data.data_prefix = {"img_path": str(ade / "images"), "seg_map_path": str(ade / "labels")}
        cfg.test_dataloader.dataset = {"type": "ConcatDataset", "datasets": [data]}
    cfg.dump("cameras.py")
    out = "o.pkl" if family == "detection" else "o"
    ended = tool("test.py", "cameras.py", "w/iter_2.pth", "--work-dir", "w", "--out", out, "--show-dir", "drawn")
    assert ended.code == 0, ended.err
    for folder in ["drawn"] + ["o"] * (family == "segmentation"):
        files = sorted(path for path in (tmp_path / folder).rglob("*.*") if path.is_file())
        assert [str(path.relative_to(tmp_path / folder)) for path in files] == ["cam1/0001.png", "cam2/0001.png"]
        first, second = (np.asarray(Image.open(path)) for path in files)
        assert folder == "o" or (first != second).any()


def test_label_maps_count_as_the_annotations_do(tmp_path):
    """ADE20K's files count from 1, and 0 is what nobody labelled (reduce_zero_label)."""
    labels = torch.tensor([[[0, 149], [3, 299]]])
    for reduced, expected in ((False, [[0, 149], [3, 299]]), (True, [[1, 150], [4, 300]])):
        writer = LabelMaps(tmp_path / str(reduced), ResultNames(None))
        sample = {"pred_sem_seg": {"data": labels}, "img_path": "/d/a.png", "reduce_zero_label": reduced}
        writer.process(None, [sample])
        assert np.asarray(Image.open(tmp_path / str(reduced) / "d/a.png")).tolist() == expected
        assert writer.evaluate(1) == {}
