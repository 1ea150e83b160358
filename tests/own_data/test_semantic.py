"""Configs for images and label maps: layouts, names, colours, splits; what cannot be done is one sentence."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from mmengine.config import Config
from PIL import Image
from written_configs import opened, write

import csan_mm
from csan_mm.commands import main
from csan_mm.common.errors import UserError
from csan_mm.own_data.mask_content import read_masks
from csan_mm.own_data.mask_files import find_masks

PALETTE = ((0, 0, 0), (200, 30, 30), (30, 200, 30))


def draw(
    images: Path,
    masks: Path,
    names: Sequence[str] = ("a", "b", "c", "d", "e"),
    endings: tuple[str, str] = (".png", ".png"),
    values: Sequence[int] = (0, 1, 2),
    palette: Sequence[tuple[int, int, int]] | None = PALETTE,
    size: tuple[int, int] = (64, 48),
) -> None:
    """Pictures whose red channel is the label map's value, and the label maps: a stripe of each value.

    A palette has at least as many colours as the values need: with fewer, Pillow writes fewer bits.
    """
    width, height = size
    for name in names:
        stripes = np.repeat(np.resize(np.array(values), height)[:, None], width, axis=1)
        picture = images / (name + endings[0])
        picture.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.stack([stripes, stripes * 0 + 90, stripes * 0], -1).astype(np.uint8)).save(picture)
        label = Image.fromarray(stripes.astype(np.uint8 if max(values) < 256 else np.uint16))
        if palette is not None:
            label = label.convert("L")
            label.putpalette([level for colour in palette for level in colour])
        (masks / name).parent.mkdir(parents=True, exist_ok=True)
        label.save(masks / (name + endings[1]))


CITIES = ("ulm/u_1", "ulm/u_2", "bonn/b_1")
#: Name -> image folder, mask folder, names and endings, for training; then the same for validation, if there is one.
LAYOUTS = {
    "ade": (("images/training", "annotations/training"), ("images/validation", "annotations/validation")),
    "mmseg": (("img_dir/train", "ann_dir/train"), ("img_dir/val", "ann_dir/val")),
    "parts above": (("train/images", "train/masks"), ("valid/images", "valid/masks")),
    "camvid": (("train", "train_labels"), ("val", "val_labels")),
    "segnet": (("train", "trainannot"), ("val", "valannot")),
    "flat": (("images", "masks"),),
    "voc without lists": (("JPEGImages", "SegmentationClass"),),
    "flat below a telling name": (("segmentation/images", "segmentation/gt"),),
}
ENDINGS = {
    "plain": (".png", ".png"),
    "worded": (".png", "_mask.png"),
    "cityscapes": ("_leftImg8bit.png", "_gtFine_labelTrainIds.png"),
}


def check_pairs(dataset, reduced: bool = False) -> None:
    """Each sample's picture and label map, as mmseg's pipeline loads them, show the same classes."""
    for index in range(len(dataset)):
        info = dataset.get_data_info(index)
        red = np.array(Image.open(info["img_path"]))[..., 0]
        for step in dataset.pipeline.transforms[:2]:
            info = step(info) if type(step).__name__ in ("LoadImageFromFile", "LoadAnnotations") else info
        if "gt_seg_map" in info:
            wanted = (red.astype(int) - 1) % 256 if reduced else red
            np.testing.assert_array_equal(info["gt_seg_map"], wanted)


@pytest.mark.parametrize("endings", ENDINGS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_read_by_the_data_sets(layout, endings, tmp_path):
    names = CITIES if endings == "cityscapes" else ("a", "b", "c", "d", "e")
    for images, masks in LAYOUTS[layout]:
        draw(tmp_path / "data" / images, tmp_path / "data" / masks, names, ENDINGS[endings])
    cfg = write(tmp_path / "data")
    train, val = opened(cfg, "train"), opened(cfg, "val")
    own = len(LAYOUTS[layout]) == 2
    assert (len(train), len(val)) == ((len(names), len(names)) if own else (len(names) - 1, 1))
    for dataset in (train, val):
        check_pairs(dataset)
        assert dataset.metainfo["classes"] == ("class_0", "class_1", "class_2")
        assert dataset.metainfo["palette"] == [list(colour) for colour in PALETTE]
    pictures = [{dataset.get_data_info(i)["img_path"] for i in range(len(dataset))} for dataset in (train, val)]
    assert not pictures[0] & pictures[1]
    assert (cfg.model.decode_head.num_classes, cfg.model.auxiliary_head.num_classes) == (3, 3)


def test_lists_of_the_data_are_used(tmp_path):
    """Pascal VOC: two folders for all, and lists; those of another task name images that have no label map."""
    data = tmp_path / "VOC2012"
    draw(data / "JPEGImages", data / "SegmentationClass", ["a", "b", "c"], (".jpg", ".png"))
    draw(data / "JPEGImages", tmp_path / "elsewhere", ["d"], (".jpg", ".png"))
    draw(data / "SegmentationObject", data / "SegmentationObject", ["a", "b", "c"])
    for folder, lists in (("Segmentation", {"train": "a b", "val": "c"}), ("Main", {"train": "a b d", "val": "c d"})):
        (data / "ImageSets" / folder).mkdir(parents=True)
        for part, names in lists.items():
            (data / "ImageSets" / folder / f"{part}.txt").write_text("\n".join(names.split()) + "\n")
    cfg = write(data)
    assert cfg.train_dataloader.dataset.ann_file == "ImageSets/Segmentation/train.txt"
    assert cfg.train_dataloader.dataset.data_prefix.seg_map_path == "SegmentationClass"
    assert (len(opened(cfg, "train")), len(opened(cfg, "val"))) == (2, 1)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"mine.py"}


def test_images_without_a_label_map_are_left_out(tmp_path):
    data = tmp_path / "data"
    for part in ("train", "val"):
        draw(data / "images" / part, data / "masks" / part)
    draw(data / "images/train", tmp_path / "elsewhere", ["x"])
    done = csan_mm.new_config(data, tmp_path / "mine.py", gpus=0)
    assert any("images without a label map (*.png) are left out, by a list" in note for note in done.notes)
    cfg = Config.fromfile(tmp_path / "mine.py")
    assert len(opened(cfg, "train")) == 5
    assert "ann_file" not in cfg.val_dataloader.dataset


def test_label_maps_between_the_images(tmp_path):
    """Roboflow: a.jpg, a_mask.png and _classes.csv in one folder; an image's own .png ending does not make masks images."""
    data = tmp_path / "data"
    for part in ("train", "valid"):
        draw(data / part, data / part, endings=(".png", "_mask.png"))
    (data / "train" / "_classes.csv").write_text("Pixel Value, Class\n0, background\n1, gull\n2, tern\n")
    cfg = write(data)
    for part in ("train", "val"):
        dataset = opened(cfg, part)
        assert len(dataset) == 5
        check_pairs(dataset)
        assert dataset.metainfo["classes"] == ("background", "gull", "tern")


@pytest.mark.parametrize(
    ("file", "content", "values", "reduced"),
    [
        ("classes.txt", "sky\nsea\nsand\n", (0, 1, 2, 255), False),
        ("labels.txt", "1: sky\n2: sea\n3: sand\n", (0, 1, 2, 3), True),
        ("classes.txt", "sky\nsea\nsand\n", (1, 2, 3), True),
        ("labelmap.txt", "# label:color_rgb:parts:actions\nsky:1,2,3::\nsea:4,5,6::\nsand:7,8,9::\n", (0, 1, 2), False),
        ("class_dict.csv", "name,r,g,b\nsky,1,2,3\nsea,4,5,6\nsand,7,8,9\n", (0, 2), False),
    ],
)
def test_names_and_colours_of_files(file, content, values, reduced, tmp_path):
    data = tmp_path / "data"
    draw(data / "images", data / "masks", values=values, palette=None)
    (data / file).write_text(content)
    done = csan_mm.new_config(data, tmp_path / "mine.py", gpus=0)
    cfg = Config.fromfile(tmp_path / "mine.py")
    assert cfg.metainfo.classes == ("sky", "sea", "sand")
    if (":" in content and "," in content) or "csv" in file:
        assert cfg.metainfo.palette == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert len({tuple(colour) for colour in cfg.metainfo.palette}) == 3
    absent = [note for note in done.notes if note.startswith("no pixel of")]
    assert absent == ([] if 1 in values else ["no pixel of: sea"])
    train = opened(cfg, "train")
    assert train.reduce_zero_label is reduced
    check_pairs(train, reduced)
    assert len(cfg.tta_pipeline[-1].transforms) == 4
    (load,) = [step for step in cfg.tta_pipeline[-1].transforms if step[0].type == "LoadAnnotations"]
    assert load[0].reduce_zero_label is reduced


def test_given_names_and_values_from_one(tmp_path):
    data = tmp_path / "data"
    draw(data / "images", data / "masks", values=(1, 2), palette=PALETTE)
    cfg = write(data, classes=["sea", "sand"])
    assert cfg.metainfo.classes == ("sea", "sand")
    assert cfg.metainfo.palette == [list(colour) for colour in PALETTE[1:]]
    assert cfg.images.reduce_zero_label is True
    for names in (["a"], ["a", "b", "c", "d"]):
        with pytest.raises(
            ValueError, match=rf"classes= has {len(names)} names, .* up to 2: name 3 classes, or 2 where 0"
        ):
            write(data, classes=names)


@pytest.mark.parametrize(("size", "crop"), [((64, 48), 64), ((300, 200), 224), ((2000, 900), 512)])
@pytest.mark.parametrize("detector", ["upernet", "semantic-fpn"])
def test_sizes_follow_the_images(size, crop, detector, tmp_path):
    data = tmp_path / "data"
    draw(data / "images", data / "masks", size=size)
    cfg = write(data, model="mavit-tiny", detector=detector)
    crops = [step.crop_size for step in cfg.train_pipeline if step.type == "RandomCrop"]
    assert crops == [(crop, crop)]
    assert tuple(cfg.model.data_preprocessor.size) == (crop, crop)
    (resize,) = [step for step in cfg.test_pipeline if step.type == "Resize"]
    assert tuple(resize.scale) == (4 * crop, crop)
    assert cfg.train_dataloader.dataset.pipeline == cfg.train_pipeline
    assert cfg.train_cfg.max_iters == 1000
    assert cfg.param_scheduler[-1]["end"] == 1000


def test_a_sliding_test_has_the_crop_s_size(tmp_path):
    data = tmp_path / "data"
    draw(data / "images", data / "masks", size=(300, 200))
    cfg = write(data, model="cbt-small")
    assert cfg.model.test_cfg.mode == "slide"
    assert (tuple(cfg.model.test_cfg.crop_size), tuple(cfg.model.test_cfg.stride)) == ((224, 224), (149, 149))


def test_refusals(tmp_path):
    data, out = tmp_path / "data", tmp_path / "mine.py"

    def refusal(**options) -> str:
        with pytest.raises(UserError) as error:
            csan_mm.new_config(data, out, gpus=0, **options)
        assert not out.exists()
        return str(error.value)

    draw(data / "images", data / "masks", values=(0, 255), palette=None)
    assert "hold 0 and 255 alone, and 255 means ignored: write 1 in its place" in refusal()
    assert "its images and label maps are for --task semantic" in refusal(task="detection")
    draw(data / "images", data / "masks", values=(0,), palette=None)
    assert "hold one class alone, class_0" in refusal()
    draw(data / "images", data / "masks", values=(255,), palette=None)
    assert "hold 255 alone, which means ignored" in refusal()
    draw(data / "images", data / "masks", values=(0, 300), palette=None)
    assert "has the value 300, which 8 bits do not hold: write PNGs of one channel" in refusal()
    draw(data / "masks", tmp_path / "elsewhere")
    assert "is a colour picture (3 channels): write PNGs of one channel" in refusal()
    (data / "masks" / "b.png").write_bytes(b"no picture")
    draw(data / "images", data / "masks", ["a"])
    assert "b.png cannot be read" in refusal()
    for path in (data / "masks").iterdir():
        path.rename(path.with_name("mask_" + path.name))
    assert "has no images with label maps (found 10 .png files in 3 folders)" in refusal(task="semantic")


def test_cityscapes_other_maps_are_not_taken(tmp_path):
    """labelIds and colour pictures lie beside the map of training's classes."""
    images, masks = tmp_path / "leftImg8bit/train", tmp_path / "gtFine/train"
    for kind in ("labelTrainIds", "labelIds", "instanceIds", "color"):
        draw(images, masks, CITIES, ("_leftImg8bit.png", f"_gtFine_{kind}.png"))
    found = find_masks(tmp_path)
    assert found.train.mask_suffix == "_gtFine_labelTrainIds.png"
    assert found.train.image_suffix == "_leftImg8bit.png"
    assert found.train.stems == tuple(sorted(CITIES))


def test_a_palette_that_differs_between_files_is_none(tmp_path):
    draw(tmp_path / "i", tmp_path / "masks", ["a"])
    draw(tmp_path / "i", tmp_path / "masks", ["b"], palette=PALETTE[::-1])
    paths = [tmp_path / "masks/a.png", tmp_path / "masks/b.png"]
    assert read_masks(paths).palette is None
    assert read_masks(paths[:1]).palette[:3] == PALETTE
    assert read_masks(paths[:1]).values == (0, 1, 2)


def test_two_commands_train_a_segmentor(tmp_path, monkeypatch, capsys):
    data = tmp_path / "data"
    draw(data / "images", data / "masks")
    monkeypatch.chdir(tmp_path)
    wanted = ["--model", "mavit-tiny", "--detector", "semantic-fpn", "--gpus", "0"]
    assert main(["new-config", "--data", "data", *wanted, "m.py"]) == 0
    printed = capsys.readouterr().out
    assert "m.py: 0 faults, 0 warnings" in printed
    assert "train it with: csan_mm train m.py" in printed
    loaders = [f"{part}_dataloader.num_workers=0" for part in ("train", "val", "test")]
    assert main(["train", "m.py", "--cfg-options", "train_cfg.max_iters=2", "train_cfg.val_interval=2", *loaders]) == 0
    assert "mIoU" in capsys.readouterr().out
    assert main(["test", "m.py", "work_dirs/m/iter_2.pth", "--tta", "--cfg-options", *loaders]) == 0
    assert "mIoU" in capsys.readouterr().out
