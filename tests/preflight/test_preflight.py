"""Every kind of broken data, made by hand from the digits, and what the report says of it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mmengine.config import Config
from PIL import Image
from pycocotools import mask as mask_utils

from csan_mm.cli.pictures import read_image
from csan_mm.cli.preflight import check_config
from csan_mm.commands import main as command
from csan_mm.common.findings import Finding, Severity
from csan_mm.datasets import DigitsSpec, build_digits
from csan_mm.preflight.classes import compare_classes, head_classes
from csan_mm.preflight.images import Loader, unreadable
from csan_mm.preflight.masks import compressed_runs
from csan_mm.preflight.samples import read_json

CLASSES = tuple("0123456789")


def main(arguments: list[str]) -> int:
    return command(["preflight", "--no-trial", *arguments])


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("preflight") / "digits"
    build_digits(root, DigitsSpec(train_count=10, val_count=10, image_size=(48, 64)))
    return root


@pytest.fixture
def data(clean: Path, tmp_path: Path) -> Path:
    """A copy that a test may break."""
    return Path(shutil.copytree(clean, tmp_path / "data"))


def pipeline(*steps: dict) -> list[dict]:
    return [{"type": "LoadImageFromFile"}, *steps]


def coco(root: Path, with_mask: bool = True, num_classes: int = 10, **dataset: object) -> Config:
    settings = {
        "type": "CocoDataset",
        "metainfo": {"classes": CLASSES},
        "data_root": str(root / "coco"),
        "ann_file": "annotations/instances_train.json",
        "data_prefix": {"img": "train/"},
        "filter_cfg": {"filter_empty_gt": True, "min_size": 16},
        "pipeline": pipeline({"type": "LoadAnnotations", "with_bbox": True, "with_mask": with_mask}),
    }
    model = {"rpn_head": {"num_classes": 1}, "bbox_head": {"num_classes": num_classes}}
    return Config({"default_scope": "mmdet", "model": model, "train_dataloader": {"dataset": settings | dataset}})


def ade(root: Path, num_classes: int = 11, **dataset: object) -> Config:
    settings = {
        "type": "BaseSegDataset",
        "metainfo": {"classes": ("background", *CLASSES)},
        "data_root": str(root / "ade20k"),
        "data_prefix": {"img_path": "images/training", "seg_map_path": "annotations/training"},
        "pipeline": pipeline({"type": "LoadAnnotations"}),
    }
    model = {"decode_head": {"num_classes": num_classes}, "auxiliary_head": [{"num_classes": num_classes}]}
    return Config({"default_scope": "mmseg", "model": model, "train_dataloader": {"dataset": settings | dataset}})


def folders(root: Path, **dataset: object) -> Config:
    settings = {
        "type": "CustomDataset",
        "classes": list(CLASSES),
        "data_root": str(root / "imagenet"),
        "data_prefix": "train",
        "pipeline": pipeline(),
    }
    model = {"head": {"num_classes": 10}}
    return Config({"default_scope": "mmpretrain", "model": model, "train_dataloader": {"dataset": settings | dataset}})


def serious(cfg: Config, least: Severity = Severity.WARNING) -> list[Finding]:
    return [finding for finding in check_config(cfg) if finding.severity >= least]


def only(cfg: Config, least: Severity = Severity.WARNING) -> Finding:
    findings = serious(cfg, least)
    assert len(findings) == 1, findings
    return findings[0]


@pytest.mark.parametrize("config", [coco, ade, folders])
def test_clean_data_has_nothing_serious(clean, config):
    assert serious(config(clean)) == []


# Image files


def images_of(root: Path, form: str) -> list[Path]:
    folder = {"coco": "coco/train", "ade20k": "ade20k/images/training", "imagenet": "imagenet/train"}[form]
    return sorted(path for path in (root / folder).rglob("*") if path.suffix in (".jpg", ".png"))


def save(path: Path, mode: str, **options: object) -> None:
    with Image.open(path) as image:
        size = image.size
    deep = np.full(size[::-1], 40000, dtype=np.uint16)
    picture = Image.fromarray(deep) if mode == "I;16" else Image.new(mode, size)
    picture.save(path, format="PNG", **options)


DAMAGE: dict[str, tuple[Callable[[Path], object], Severity, str]] = {
    "missing": (lambda path: path.unlink(), Severity.FAULT, "does not exist"),
    "empty": (lambda path: path.write_bytes(b""), Severity.FAULT, "is empty (0 bytes)"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-200]), Severity.FAULT, "is truncated"),
    "text": (lambda path: path.write_text("no image"), Severity.FAULT, "is not an image"),
    "RGBA": (lambda path: save(path, "RGBA"), Severity.WARNING, "has transparency (RGBA)"),
    "16 bit": (lambda path: save(path, "I;16"), Severity.WARNING, "has 16 bits a pixel"),
    "grey": (lambda path: save(path, "L"), Severity.NOTE, "is grey: read as three equal channels"),
}


CONFIGS = {"coco": coco, "ade20k": ade, "imagenet": folders}
#: In the other two forms the folder is the list: no image of it can be missing.
DAMAGED = [(form, damage) for form in CONFIGS for damage in DAMAGE if damage != "missing" or form == "coco"]


@pytest.mark.parametrize(("form", "damage"), DAMAGED)
def test_damaged_image_is_named(data, form, damage):
    break_it, severity, says = DAMAGE[damage]
    path = images_of(data, form)[2]
    break_it(path)
    found = [finding for finding in check_config(CONFIGS[form](data)) if finding.subject == str(path)]
    assert [(finding.severity, finding.where) for finding in found] == [(severity, "train_dataloader.dataset")]
    assert found[0].says.startswith(says)


@pytest.mark.parametrize("suffix", ["jpg", "png", "bmp"])
def test_truncation_is_seen_in_every_format(tmp_path, suffix):
    path = tmp_path / f"image.{suffix}"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (97, 131, 3), dtype=np.uint8)).save(path)
    assert unreadable(str(path)) is None
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 9 // 10])
    assert unreadable(str(path)) == "is truncated"


def test_size_other_than_annotated_and_turned_photographs(data):
    path = images_of(data, "coco")[0]
    with Image.open(path) as image:
        turned = image.convert("RGB").rotate(90, expand=True)
    turned.save(path, format="JPEG")
    finding = only(coco(data))
    assert (finding.subject, finding.says) == (str(path), "is 48x64 and the annotations say 64x48")
    exif = Image.Exif()
    exif[0x0112] = 6  # readers turn it back
    turned.save(path, format="JPEG", exif=exif)
    assert serious(coco(data)) == []


def test_a_picture_beyond_pillow_s_limit_is_fine_for_opencv_and_not_for_pillow(tmp_path, monkeypatch):
    assert Loader().limit(19000, 10000) is None  # 190 megapixels
    assert "the loader (Pillow) takes 178956970" in Loader("unchanged", "pillow").limit(19000, 10000)
    assert "the loader (OpenCV) takes 1073741824" in Loader().limit(40000, 40000)
    path = tmp_path / "large.png"
    Image.new("RGB", (64, 48)).save(path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(Image.DecompressionBombError):
        Image.open(path)
    assert unreadable(str(path)) is None
    assert read_image(path).shape == (48, 64, 3)
    assert Image.MAX_IMAGE_PIXELS == 100


def test_quick_reads_a_sample_of_the_images_and_says_so(data, monkeypatch):
    monkeypatch.setattr("csan_mm.preflight.images.QUICK_SAMPLE", 4)
    images = images_of(data, "coco")
    images[0].write_text("no image")  # the first of a sample
    images[1].write_text("no image")
    images[3].unlink()
    findings = list(check_config(coco(data), quick=True))
    assert {f.subject for f in findings if f.severity is Severity.FAULT} == {str(images[0]), str(images[3])}
    assert any(f.says.startswith("--quick: 4 of 10 images were read") for f in findings)
    labels = list(check_config(ade(data), quick=True))
    assert any(f.says.startswith("--quick: 4 of 10 label maps were read") for f in labels)


# COCO annotations


@pytest.fixture
def annotations(data: Path) -> Callable[[Callable[[dict], object]], Config]:
    """Edits the training annotations and gives the config."""

    def edit(change: Callable[[dict], object], **options: object) -> Config:
        path = data / "coco" / "annotations" / "instances_train.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))
        return coco(data, **options)

    return edit


def set_first(**values: object) -> Callable[[dict], None]:
    return lambda content: content["annotations"][0].update(values)


@pytest.mark.parametrize(
    ("change", "severity", "says"),
    [
        (set_first(bbox=[1, 1, 0.5, 9]), Severity.WARNING, "has a box less than 1 pixel wide or high"),
        (set_first(area=0), Severity.WARNING, "has an area of 0"),
        (set_first(bbox=[70, 1, 9, 9]), Severity.WARNING, "has a box outside its image"),
        (set_first(bbox=[-5, -5, 5, 5]), Severity.WARNING, "has a box outside its image"),
        (set_first(bbox=[60, 1, 20, 9]), Severity.NOTE, "has a box that reaches out of its image"),
        (set_first(bbox=[1, 1, float("nan"), 9]), Severity.FAULT, "has a bbox that is not four finite numbers"),
        (set_first(bbox=[1, 1, 9]), Severity.FAULT, "has a bbox that is not four finite numbers"),
        (set_first(bbox=None), Severity.FAULT, "has a bbox that is not four finite numbers"),
        (set_first(image_id=999), Severity.FAULT, "belongs to an image that is not listed"),
        (set_first(category_id=999), Severity.FAULT, "has a category_id that is not listed"),
        (set_first(segmentation=[]), Severity.FAULT, "has no segmentation"),
        (
            set_first(segmentation=[1, 1, 9, 1, 9, 9]),
            Severity.FAULT,
            "has a segmentation that is not a list of polygons",
        ),
        (set_first(segmentation=[[1, 1, 9, None, 9, 9]]), Severity.FAULT, "has a polygon with a value that is no"),
        (set_first(segmentation=[[1, 1, 9, 1e9, 9, 9]]), Severity.FAULT, "has a polygon with a coordinate beyond"),
        (set_first(segmentation="none"), Severity.FAULT, "has a segmentation that is neither"),
        (
            set_first(segmentation={"size": [48, 64], "counts": "garbage!!"}),
            Severity.FAULT,
            "has an unreadable run-length mask",
        ),
        (
            set_first(segmentation={"size": [48, 64], "counts": [3, 2]}),
            Severity.FAULT,
            "has a run-length mask whose counts do not add up",
        ),
        (set_first(bbox=[1, 1, "9", 9]), Severity.FAULT, "has a bbox that is not four finite numbers"),
        (set_first(bbox=[1, 1, 1e30, 9]), Severity.FAULT, "has a box with a value beyond"),
        (set_first(area="9"), Severity.FAULT, "has an area that is not a finite number"),
        (set_first(iscrowd="0"), Severity.FAULT, "has an iscrowd that is not 0 or 1"),
        (set_first(category_id=[1]), Severity.FAULT, "has a category_id that is not a whole number"),
        (set_first(segmentation=[[1, 1, 2, 2]]), Severity.FAULT, "has no polygon of three points"),
        (
            set_first(segmentation={"size": [9, 9], "counts": [81]}),
            Severity.FAULT,
            "has a run-length mask of another size",
        ),
        (set_first(segmentation={"size": [48, 64]}), Severity.FAULT, "has an unreadable run-length mask"),
        (lambda content: content["annotations"][0].pop("area"), Severity.FAULT, "has no area"),
    ],
)
def test_annotation_is_named_with_its_image(annotations, change, severity, says):
    findings = [finding for finding in check_config(annotations(change)) if "annotation " in finding.subject]
    assert len(findings) == 1, findings
    assert findings[0].severity is severity
    assert findings[0].says.startswith(says)
    assert "instances_train.json, annotation " in findings[0].subject


def test_masks_are_looked_at_only_where_the_pipeline_loads_them(annotations):
    assert serious(annotations(set_first(segmentation=[]), with_mask=False)) == []


@pytest.mark.parametrize("part", ["images", "annotations", "categories"])
def test_ids_that_stand_twice(annotations, part):
    def twice(content: dict) -> None:
        content[part][1]["id"] = content[part][0]["id"]

    findings = serious(annotations(twice), Severity.FAULT)
    assert any(finding.says.endswith(f"stands 2 times in {part}") for finding in findings)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda content: content.pop("categories"), "has no list 'categories'"),
        (
            lambda content: content["images"][3].pop("file_name"),
            "1 of its images have no 'file_name' (the first: number 3)",
        ),
        (
            lambda content: content["annotations"][0].pop("bbox"),
            "1 of its annotations have no 'bbox' (the first: number 0)",
        ),
    ],
)
def test_incomplete_annotation_file(annotations, change, says):
    finding = only(annotations(change))
    assert (finding.severity, finding.says) == (Severity.FAULT, says)


def test_annotation_file_that_is_no_json(data):
    (data / "coco" / "annotations" / "instances_train.json").write_text('{"images": [')
    finding = only(coco(data))
    assert finding.subject.endswith("instances_train.json")
    assert finding.says.startswith("is not readable JSON")


def test_nothing_left_after_filtering(annotations):
    assert any("images are left by filter_cfg" in finding.says for finding in check_config(annotations(keep_one)))

    def shrink(content: dict) -> None:
        for image in content["images"]:
            image.update(width=8, height=8)

    says = [finding.says for finding in check_config(annotations(shrink)) if finding.severity is Severity.FAULT]
    assert "none of its 10 images is left to train on" in says


@pytest.mark.parametrize("part", ["iscrowd", "ignore"])
def test_nothing_but_crowds(annotations, part):
    cfg = annotations(lambda content: [row.update({part: 1}) for row in content["annotations"]])
    assert only(cfg).says.startswith("has no box to learn from: all are crowds")


def evaluated(cfg: Config, **metric: object) -> Config:
    """The training set as a test set with a COCO metric."""
    dataset = cfg.train_dataloader.dataset
    file = f"{dataset.data_root}/{dataset.ann_file}"
    metric = {"type": "CocoMetric", "ann_file": file, "metric": ["bbox", "segm"]} | metric
    dataset = {**dataset, "test_mode": True}
    return Config(
        {"model": {}, "default_scope": "mmdet", "test_dataloader": {"dataset": dataset}, "test_evaluator": metric}
    )


def test_what_the_metric_needs(annotations):
    assert serious(evaluated(annotations(lambda content: None))) == []
    crowds = evaluated(annotations(lambda content: [row.update(iscrowd=1) for row in content["annotations"]]))
    assert only(crowds).says.endswith("every figure would be -1")
    lacking = annotations(lambda content: [row.pop("iscrowd") for row in content["annotations"][:1]])
    assert serious(coco(Path(lacking.train_dataloader.dataset.data_root).parent)) == []
    assert only(evaluated(lacking)).says == "has no iscrowd, and the metric reads it"
    text = annotations(lambda content: content["annotations"][0].update(id="a", iscrowd=0))
    assert only(evaluated(text)).says.startswith("has an id that is text")
    zero = annotations(lambda content: content["annotations"][0].update(id=0))
    assert only(evaluated(zero)).severity is Severity.WARNING


def test_test_set_without_annotations(annotations):
    cfg = annotations(lambda content: content.pop("annotations"))
    assert serious(evaluated(cfg, format_only=True)) == []
    assert only(evaluated(cfg)).says == "has no list 'annotations'"


def test_two_categories_of_one_name(annotations):
    finding = only(annotations(lambda content: content["categories"][1].update(name="0")), Severity.FAULT)
    assert finding.says.startswith("has two categories of one name (0)")


def test_a_file_that_two_loaders_share_is_read_once(clean, monkeypatch):
    cfg = coco(clean)
    cfg.test_dataloader = {"dataset": {**cfg.train_dataloader.dataset, "test_mode": True}}
    reads, opened = [], []
    monkeypatch.setattr("csan_mm.preflight.coco.read_json", lambda path: reads.append(path) or read_json(path))
    monkeypatch.setattr("csan_mm.preflight.images.unreadable", lambda path, loader: opened.append(path))
    assert serious(cfg) == []
    assert len(reads) == 1
    assert len(opened) == len(set(opened)) == 10


def test_no_annotation_at_all(annotations):
    findings = serious(annotations(lambda content: content["annotations"].clear()))
    assert [finding.says for finding in findings] == ["has no annotation: there is nothing to learn from"]


def keep_one(content: dict) -> None:
    image = content["images"][0]["id"]
    content["annotations"] = [{"id": 1, "image_id": image, "category_id": content["categories"][0]["id"], "area": 9.0,
                               "bbox": [1, 1, 3, 3], "segmentation": [[1, 1, 4, 1, 4, 4]]}]  # fmt: skip


def test_compressed_masks_are_read_as_pycocotools_does():
    rng = np.random.default_rng(0)
    for height, width in ((1, 1), (7, 9), (300, 2), (640, 480)):
        for share in (0.0, 0.01, 0.5, 1.0):
            mask = np.asfortranarray(rng.random((height, width)) < share).astype(np.uint8)
            runs = np.asarray(compressed_runs(mask_utils.encode(mask)["counts"].decode()))
            values = np.repeat(np.arange(len(runs)) % 2, runs)
            assert (mask == values.reshape(width, height).T).all()
    assert [compressed_runs(text) for text in ("", "!", "o", "oooooooo0")] == [None] * 4


# Classes


def test_class_tuple_without_a_comma(clean):
    findings = serious(coco(clean, metainfo={"classes": ("ship")}))
    assert findings[0].subject == "metainfo classes='ship'"
    assert findings[0].cure == "write a tuple with a comma: classes=('ship',)"
    assert len(findings) == 1


@pytest.mark.parametrize(
    ("wanted", "found", "says"),
    [
        (["cat", "dog"], ["cat", "dog"], []),
        (["cat"], ["cat", "dog"], ["has categories that metainfo leaves out: dog"]),
        (
            ["cat", "dog"],
            ["Cat", "dog"],
            ["has no category 'cat', which metainfo names (it has 'Cat')", "leaves out: Cat"],
        ),
        (["a", "b"], ["x", "y"], ["has none of the config's classes (a, b): nothing would be left"]),
        (["dog", "cat"], ["cat", "dog"], ["lists the classes in another order (cat, dog) than metainfo (dog, cat)"]),
    ],
    ids=["equal", "fewer", "spelling", "none", "order"],
)
def test_config_against_annotations(wanted, found, says):
    findings = list(compare_classes(wanted, found, "train", "a.json"))
    assert len(findings) == len(says)
    for finding, part in zip(findings, says):
        assert part in finding.says
        assert finding.severity is (Severity.NOTE if "leaves out" in part else Severity.FAULT)


@pytest.mark.parametrize("config", [coco, ade])
def test_heads_against_the_data_set(clean, config):
    findings = serious(config(clean, num_classes=80))
    assert {finding.says.split(",")[0] for finding in findings} == {"= 80"}
    assert findings[0].subject.endswith("_head.num_classes")
    assert len(findings) == (1 if config is coco else 2)


def test_which_num_classes_count_the_data_s_classes():
    model = {
        "backbone": {"num_classes": 1000},
        "rpn_head": {"num_classes": 1},
        "roi_head": {"bbox_head": [{"num_classes": 3}, {"num_classes": 4}], "mask_head": {"num_classes": 5}},
    }
    assert list(head_classes(model)) == [
        ("model.roi_head.bbox_head.0.num_classes", 3),
        ("model.roi_head.bbox_head.1.num_classes", 4),
        ("model.roi_head.mask_head.num_classes", 5),
    ]


# Label maps


def label_map(root: Path) -> Path:
    return sorted((root / "ade20k" / "annotations" / "training").glob("*.png"))[1]


def test_label_values_out_of_range(data):
    path = label_map(data)
    Image.fromarray(np.array([[0, 11], [10, 255]], dtype=np.uint8).repeat(24, 0).repeat(32, 1)).save(path)
    finding = only(ade(data))
    assert (finding.subject, finding.says) == (str(path), "has values outside the classes: 11")
    # With reduce_zero_label 0 is ignored and classes start at 1.
    assert serious(ade(data, reduce_zero_label=True)) == []


def test_colour_masks(data):
    path = label_map(data)
    Image.open(path).convert("RGB").save(path)
    finding = only(ade(data))
    assert finding.subject == str(path)
    assert finding.says.startswith("is a colour picture (3 channels)")


def test_label_maps_of_sixteen_bits_are_read_as_mmseg_does(data):
    path = label_map(data)
    Image.fromarray(np.array([[0, 257], [299, 0]], dtype=np.uint16).repeat(24, 0).repeat(32, 1)).save(path)
    finding = only(ade(data))
    assert (finding.severity, finding.subject) == (Severity.FAULT, str(path))
    assert finding.says == "has values that 8 bits do not hold: training reads 257 as 1, 299 as 43"
    small = np.array([[0, 7], [9, 0]], dtype=np.uint16).repeat(24, 0).repeat(32, 1)
    Image.fromarray(small).save(path)  # 16 bits alone do no harm
    assert serious(ade(data)) == []


@pytest.mark.parametrize("reduce_zero_label", [False, True])
def test_masks_of_0_and_255_are_not_two_classes(data, reduce_zero_label):
    for path in (data / "ade20k" / "annotations" / "training").glob("*.png"):
        pixels = np.zeros((48, 64), dtype=np.uint8)
        pixels[:20] = 255
        Image.fromarray(pixels).save(path)
    two = ade(data, num_classes=2, metainfo={"classes": ("ground", "thing")}, reduce_zero_label=reduce_zero_label)
    finding = only(two)
    assert finding.severity is Severity.FAULT
    assert finding.says.startswith("its label maps hold only " + ("ignored" if reduce_zero_label else "'ground'"))


def test_label_maps_are_looked_at_only_where_the_pipeline_loads_them(data):
    shutil.rmtree(data / "ade20k" / "annotations")
    assert serious(ade(data))[0].says.startswith("does not exist (data_prefix seg_map_path)")
    assert serious(ade(data, pipeline=pipeline(), test_mode=True)) == []


def test_label_map_of_another_size(data):
    path = label_map(data)
    Image.open(path).resize((32, 24)).save(path)
    assert only(ade(data)).says == "is 32x24 and its image 64x48"


def test_missing_and_damaged_label_maps(data):
    paths = sorted((data / "ade20k" / "annotations" / "training").glob("*.png"))
    paths[0].unlink()
    paths[1].write_bytes(b"")
    found = {finding.subject: finding.says for finding in serious(ade(data))}
    assert found == {str(paths[0]): "does not exist", str(paths[1]): "is empty (0 bytes)"}


def test_no_image_with_the_suffix(data):
    finding = only(ade(data, img_suffix=".tiff"))
    assert finding.says == "names no image (*.tiff)"


def test_classes_that_never_occur_are_noted(data):
    for path in (data / "ade20k" / "annotations" / "training").glob("*.png"):
        with Image.open(path) as image:
            Image.new("L", image.size, 3).save(path)
    notes = [finding for finding in check_config(ade(data)) if finding.says.startswith("no label map has a pixel of")]
    assert notes[0].says == "no label map has a pixel of: background, 0, 1, 3, 4, 5, ... (10)"
    assert serious(ade(data)) == []


# Class folders


def test_empty_class_folder_and_folders_that_are_no_class(data):
    train = data / "imagenet" / "train"
    for path in (train / "4").iterdir():
        path.unlink()
    assert only(folders(data)).subject == str(train / "4")
    (train / "ten").mkdir()
    says = [finding.says for finding in serious(folders(data))]
    assert any(text.startswith("cannot be read (The number of subfolders (11)") for text in says)


def test_labels_of_a_list_out_of_range(data):
    path = images_of(data, "imagenet")[0].relative_to(data / "imagenet" / "train")
    (data / "imagenet" / "list.txt").write_text(f"{path} 10\n{path} 9\n")
    finding = only(folders(data, ann_file="list.txt"))
    assert finding.says == "has the label 10, and there are 10 classes"


# The whole report


def write(cfg: Config, path: Path) -> str:
    cfg.dump(path)
    return str(path)


def test_report_and_exit_status(data, tmp_path, capsys):
    path = write(coco(data), tmp_path / "c.py")
    assert main([path]) == 0
    assert main([path, "--cfg-options", "train_dataloader.dataset.ann_file=none.json"]) == 2
    assert "none.json: does not exist" in capsys.readouterr().out
    assert main([path]) == 0
    assert capsys.readouterr().out.endswith(f"{path}: 0 faults, 0 warnings\n")
    save(images_of(data, "coco")[0], "RGBA")
    assert main([path]) == 1
    for image in images_of(data, "coco")[1:]:
        image.unlink()
    assert main([path]) == 2
    out = capsys.readouterr().out
    assert "fault   train_dataloader.dataset: does not exist (9)" in out
    assert "and 4 more" in out
    assert main([path, "--json"]) == 2
    report = json.loads(capsys.readouterr().out)
    assert len([row for row in report["findings"] if row["severity"] == "fault"]) == 9


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"data_root": "/nowhere"}, "does not exist (ann_file)"),
        ({"type": "NoSuchDataset"}, "cannot be built (KeyError"),
        ({"pipeline": [{"type": "NoSuchTransform"}]}, "cannot be built (KeyError"),
    ],
)
def test_data_set_that_cannot_be_opened(clean, settings, says):
    findings = serious(coco(clean, **settings), Severity.FAULT)
    assert findings[0].says.startswith(says)


def test_metric_that_reads_another_annotation_file(clean):
    cfg = coco(clean)
    cfg.val_dataloader = cfg.train_dataloader
    own = clean / "coco" / "annotations" / "instances_train.json"
    cfg.val_evaluator = {"type": "CocoMetric", "ann_file": str(own)}
    assert serious(cfg) == []
    cfg.val_evaluator = [{"type": "CocoMetric", "ann_file": str(own.with_name("instances_val.json"))}]
    assert only(cfg).says.startswith("is not the annotation file of val_dataloader")
    cfg.val_evaluator = {"type": "CocoMetric", "ann_file": "/nowhere.json"}
    assert only(cfg).severity is Severity.FAULT


def test_wrapped_data_sets_are_all_checked_and_equal_ones_once(data):
    cfg = coco(data)
    part = cfg.train_dataloader.dataset
    other = {**part, "ann_file": "annotations/none.json"}
    cfg.train_dataloader.dataset = {
        "type": "RepeatDataset",
        "times": 2,
        "dataset": {"type": "ConcatDataset", "datasets": [part, other]},
    }
    cfg.test_dataloader = {"dataset": part}
    finding = only(cfg)
    assert finding.where == "train_dataloader.dataset.dataset.datasets.1"
    assert finding.subject.endswith("annotations/none.json")


@pytest.mark.parametrize("content", ["x = (", "x = 1"])
def test_unreadable_config_is_a_fault(tmp_path, capsys, content):
    path = tmp_path / "c.py"
    path.write_text(content)
    assert main([str(path)]) == 2
    assert f"config {path} " in capsys.readouterr().out


def test_config_without_data(capsys):
    assert only(Config({"model": {}})).says == "sets no data loader"
