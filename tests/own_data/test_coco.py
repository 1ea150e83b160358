"""Configs for COCO annotations: layouts, classes, splits; what cannot be done is one sentence."""

import json
from pathlib import Path

import pytest
from mmengine.config import Config
from PIL import Image
from written_configs import opened, write

import csan_mm
from csan_mm.commands import main
from csan_mm.common.errors import UserError
from csan_mm.own_data.shipped import _pairs
from csan_mm.preflight.classes import head_classes

LAYOUTS = {
    "coco": [
        ("annotations/instances_train2017.json", "train2017"),
        ("annotations/instances_val2017.json", "val2017"),
    ],
    "roboflow": [("train/_annotations.coco.json", "train"), ("valid/_annotations.coco.json", "valid")],
    "images of both in one folder": [("train.json", "images"), ("val.json", "images")],
    "parts below images": [("annotations/train.json", "images/train"), ("annotations/val.json", "images/val")],
    "one file": [("annotations.json", "images")],
    "cvat": [("annotations/instances_default.json", "images/default")],
    "beside the images": [("_annotations.coco.json", ".")],
}
SPLIT = ("one file", "cvat", "beside the images")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_read_by_the_data_sets(layout, coco):
    data = coco(*LAYOUTS[layout])
    cfg = write(data)
    train, val = opened(cfg, "train"), opened(cfg, "val")
    assert (len(train), len(val)) == ((5, 1) if layout in SPLIT else (6, 6))
    for dataset in (train, val):
        assert dataset.metainfo["classes"] == ("gull", "tern", "duck")
        assert all(Path(dataset.get_data_info(index)["img_path"]).is_file() for index in range(len(dataset)))
    places = {Path(opened(cfg, part).get_data_info(0)["img_path"]).parent.name for part in ("train", "val")}
    assert len(places) == 1 + (layout in ("coco", "roboflow", "parts below images"))
    assert cfg.val_evaluator.ann_file == val.ann_file
    assert cfg.model.bbox_head.num_classes == 3


@pytest.mark.parametrize(
    ("task", "head"), [("detection", "bbox_head"), pytest.param("instance", "roi_head", marks=pytest.mark.slow)]
)
def test_written_configs_pass_preflight_and_its_trial(task, head, coco, capsys):
    data = coco(*LAYOUTS["coco"])
    out = data.parent / "mine.py"
    assert main(["new-config", "--data", str(data), "--task", task, "--gpus", "0", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "went through one training step and one evaluation" in printed
    assert f"{out}: 0 faults, 0 warnings" in printed
    assert f"train it with: csan_mm train {out}" in printed
    assert head in Config.fromfile(out).model


@pytest.mark.parametrize("wanted", [None, ["duck", "gull"]])
def test_labels_are_those_of_the_names_where_ids_have_gaps(wanted, coco):
    """A box's grey level is its category's id, so that pictures and labels can be compared."""
    categories = ((90, "gull"), (7, "tern"), (33, "duck"))
    dataset = opened(write(coco(("train.json", "images"), categories=categories, count=9), classes=wanted), "train")
    classes = dataset.metainfo["classes"]
    assert classes == (("gull", "tern", "duck") if wanted is None else ("gull", "duck"))
    seen = set()
    for index in range(len(dataset)):
        info = dataset.get_data_info(index)
        (instance,) = info["instances"]
        name = classes[instance["bbox_label"]]
        assert Image.open(info["img_path"]).getpixel((20, 20))[0] == {v: k for k, v in categories}[name]
        seen.add(name)
    assert seen == set(classes)


def test_a_group_of_all_classes_is_none(coco):
    """Roboflow's file begins with a category that is the others' supercategory."""
    data = coco(("train/_annotations.coco.json", "train"))
    path = data / "train" / "_annotations.coco.json"
    content = json.loads(path.read_text())
    for row in content["categories"]:
        row["supercategory"] = "birds"
    content["categories"].insert(0, {"id": 0, "name": "birds", "supercategory": "none"})
    path.write_text(json.dumps(content))
    assert write(data).metainfo.classes == ("gull", "tern", "duck")


def test_a_split_is_the_same_each_time_and_copies_no_picture(coco):
    data = coco(("annotations.json", "images"), count=40, empty=10)
    out = data.parent / "out"
    write(data)
    train, val = (json.loads((out / f"mine_{part}.json").read_text()) for part in ("train", "val"))
    ids = [{image["id"] for image in part["images"]} for part in (train, val)]
    assert not ids[0] & ids[1]
    assert ids[0] | ids[1] == set(range(1, 41))
    assert sum(key > 10 for key in ids[1]) == 6
    assert sum(key <= 10 for key in ids[1]) == 2
    assert all({row["image_id"] for row in part["annotations"]} <= kept for part, kept in zip((train, val), ids))
    assert train["info"] == {"description": "drawn"}
    assert {path.name for path in out.iterdir()} == {"mine.py", "mine_train.json", "mine_val.json"}

    path = data / "annotations.json"
    content = json.loads(path.read_text())
    content["images"].reverse()
    path.write_text(json.dumps(content))
    write(data)
    assert {image["id"] for image in json.loads((out / "mine_val.json").read_text())["images"]} == ids[1]


def test_a_config_moves_with_its_lists(coco):
    data = coco(("annotations.json", "images"))
    write(data)
    moved = data.parent / "elsewhere"
    (data.parent / "out").rename(moved)
    cfg = Config.fromfile(moved / "mine.py")
    assert cfg.train_dataloader.dataset.ann_file == str(moved / "mine_train.json")
    assert len(opened(cfg, "val")) == 1


def test_one_file_may_be_given(coco):
    data = coco(("annotations/a_train.json", "a"))
    coco(("annotations/b_train.json", "b"), prefix="b")
    cfg = write(data / "annotations" / "b_train.json")
    assert Path(opened(cfg, "train").get_data_info(0)["img_path"]).parent == data / "b"


def test_more_classes_than_mmdet_has_colours_for(coco):
    data = coco(("train.json", "images"), categories=[(key, f"kind {key}") for key in range(1, 101)])
    assert len({tuple(colour) for colour in write(data).metainfo.palette}) == 100
    assert "palette" not in write(data, classes=["kind 2", "kind 3"]).metainfo


@pytest.mark.parametrize(
    ("model", "detector"), sorted(pair for pair in _pairs() if pair[1] not in ("upernet", "semantic-fpn"))
)
def test_every_head_of_every_pair_has_the_classes(model, detector, coco):
    cfg = write(coco(*LAYOUTS["coco"]), model=model, detector=detector)
    counts = [count for _, count in head_classes(cfg.model)]
    assert counts
    assert set(counts) == {3}
    assert cfg.train_cfg.max_epochs > 12
    assert opened(cfg, "train").metainfo["classes"] == ("gull", "tern", "duck")


def test_the_file_of_weights_is_used_where_it_is(coco, monkeypatch, tmp_path):
    data = coco(*LAYOUTS["coco"])
    monkeypatch.setenv("CSAN_MM_WEIGHTS", str(tmp_path))
    assert write(data).model.backbone.init_cfg is None
    (tmp_path / "swin_tiny_patch4_window7_224.pth").touch()
    assert write(data).model.backbone.init_cfg.checkpoint == str(tmp_path / "swin_tiny_patch4_window7_224.pth")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"model": "swin-csan-tyni"}, "model='swin-csan-tyni' is unknown.*did you mean swin-csan-tiny"),
        ({"detector": "retina-net"}, "detector='retina-net' is unknown: did you mean retinanet"),
        ({"task": "boxes"}, "task='boxes' is unknown: take one of detection, instance"),
        ({"task": "detection", "detector": "mask-rcnn"}, "does instance, not detection: take one of retinanet"),
        (
            {"model": "weightformer-small", "detector": "retinanet"},
            "no retinanet with weightformer-small is shipped: take",
        ),
        ({"classes": ["Gul"]}, "has no class 'Gul': did you mean gull"),
        ({"classes": []}, "take a list of names"),
        ({"gpus": -1}, "gpus=-1 is out of range"),
    ],
)
def test_wrong_arguments_are_named(options, sentence, coco):
    data = coco(*LAYOUTS["coco"])
    with pytest.raises(ValueError, match=sentence):
        csan_mm.new_config(data, data.parent / "mine.py", **options)
    assert not (data.parent / "mine.py").exists()


def test_what_cannot_be_made_out_is_a_sentence(coco, tmp_path):
    def refusal(data: Path, **options) -> str:
        with pytest.raises(UserError) as caught:
            csan_mm.new_config(data, tmp_path / "mine.py", **options)
        assert not (tmp_path / "mine.py").exists()
        return str(caught.value)

    assert "is not a folder" in refusal(tmp_path / "nowhere")
    (tmp_path / "voc").mkdir()
    (tmp_path / "voc" / "1.xml").touch()
    assert "has no COCO annotations (found 1 .xml files in 1 folder): expected" in refusal(tmp_path / "voc")
    data = coco(("a.json", "images"), ("b.json", "images"))
    assert "a.json and b.json could both be the training annotations" in refusal(data)
    (data / "b.json").write_text("{")
    assert "b.json is not readable JSON" in refusal(data)
    (data / "b.json").unlink()
    (data / "a.json").rename(data / "test.json")
    assert "no annotations to train on: found test.json (test)" in refusal(data)
    coco(("test.json", "images"), masks=False)
    (data / "test.json").rename(data / "train.json")
    assert "6 annotations without a segmentation" in refusal(data, task="instance")
    (data / "images").rename(data.parent / "images")
    assert "lists images such as '0001.png', and no folder" in refusal(data)


def test_broken_form_and_lonely_images(coco, tmp_path):
    data = coco(("train.json", "images"), count=1)
    with pytest.raises(UserError, match="has 1 image with annotations: training and validation need one each"):
        csan_mm.new_config(data, tmp_path / "mine.py")
    content = json.loads((data / "train.json").read_text())
    del content["images"][0]["width"]
    (data / "train.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"1 of its images have no 'width'"):
        csan_mm.new_config(data, tmp_path / "mine.py")
    content["images"], content["annotations"] = [{**content["images"][0], "width": 64}], []
    (data / "train.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match="no annotation of gull, tern, duck: there is nothing to learn from"):
        csan_mm.new_config(data, tmp_path / "mine.py")


def test_files_that_exist_stay(coco, tmp_path):
    data = coco(("train.json", "images"))
    (tmp_path / "mine_val.json").write_text("mine")
    with pytest.raises(UserError, match=r"mine_val.json exists already"):
        csan_mm.new_config(data, tmp_path / "mine.py")
    assert (tmp_path / "mine_val.json").read_text() == "mine"
    assert not (tmp_path / "mine.py").exists()
    assert len(csan_mm.new_config(data, tmp_path / "mine.py", force=True).files) == 3


@pytest.mark.slow
@pytest.mark.parametrize("task", ["detection", "instance"])
def test_two_commands_train_a_detector(task, coco, monkeypatch):
    data = coco(*LAYOUTS["roboflow"])
    monkeypatch.chdir(data.parent)
    assert main(["new-config", "--data", "data", "--task", task, "--gpus", "0", "mine.py"]) == 0
    settings = ["train_cfg.max_epochs=1", "train_dataloader.num_workers=0", "val_dataloader.num_workers=0"]
    assert main(["train", "mine.py", "--cfg-options", *settings]) == 0
    assert list(Path("work_dirs/mine").glob("*.pth"))
