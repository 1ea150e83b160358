"""A digits data set is there as a whole or not at all; the same options are kept, others are refused."""

import json
from pathlib import Path

import pytest

from csan_mm.datasets import FORMS, DigitsExistError, DigitsSpec, build_digits
from csan_mm.datasets import digits_build as module

TINY = DigitsSpec(train_count=2, val_count=1, image_size=32)
OTHER = DigitsSpec(train_count=2, val_count=1, image_size=32, seed=5)


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def stamps(root: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in root.rglob("*")}


def test_the_same_options_give_the_same_bytes(tmp_path, small_digits, small_spec):
    folders = build_digits(tmp_path / "again", small_spec)
    assert list(folders) == ["coco", "ade20k", "imagenet"]
    assert all(folder == tmp_path / "again" / form for form, folder in folders.items())
    assert contents(tmp_path / "again") == contents(small_digits)


def test_more_images_begin_with_the_fewer(tmp_path):
    build_digits(tmp_path / "few", TINY)
    build_digits(tmp_path / "many", DigitsSpec(train_count=4, val_count=3, image_size=32))
    few, many = contents(tmp_path / "few"), contents(tmp_path / "many")
    pictures = [name for name in few if not name.endswith(".json")]
    assert len(pictures) == 3 + 6 + 3
    assert all(many[name] == few[name] for name in pictures)


def test_another_seed_gives_other_bytes(tmp_path):
    build_digits(tmp_path / "a", TINY, ["coco"])
    build_digits(tmp_path / "b", OTHER, ["coco"])
    first, second = contents(tmp_path / "a"), contents(tmp_path / "b")
    assert first.keys() == second.keys()
    assert not any(first[name] == second[name] for name in first)


def test_an_unchanged_data_set_is_kept(tmp_path):
    build_digits(tmp_path, TINY, ["coco"])
    before = stamps(tmp_path / "coco")
    (tmp_path / "coco" / ".DS_Store").write_text("what a file browser leaves does not count")
    build_digits(tmp_path, TINY, ["coco", "imagenet"])  # imagenet is added beside it
    after = stamps(tmp_path / "coco")
    assert {path: after[path] for path in before if path != tmp_path / "coco"} == {
        path: stamp for path, stamp in before.items() if path != tmp_path / "coco"
    }
    assert (tmp_path / "imagenet" / "digits.json").is_file()


def test_other_options_are_refused_by_name_and_overwritten_on_demand(tmp_path):
    build_digits(tmp_path, TINY, ["coco"])
    before = contents(tmp_path)
    with pytest.raises(DigitsExistError, match=r"coco holds other digits \(seed is 0, asked for 5\); --overwrite"):
        build_digits(tmp_path, OTHER)
    assert contents(tmp_path) == before  # and no other form was begun
    build_digits(tmp_path, OTHER, ["coco"], overwrite=True)
    build_digits(tmp_path / "fresh", OTHER, ["coco"])
    assert contents(tmp_path / "coco") == contents(tmp_path / "fresh" / "coco")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["coco", "fresh"]


@pytest.mark.parametrize("damage", ["truncated", "missing", "additional"])
def test_changed_files_are_noticed_and_repaired(tmp_path, damage):
    build_digits(tmp_path, TINY, ["coco"])
    before = contents(tmp_path)
    picture = tmp_path / "coco" / "train" / "000002.png"
    if damage == "truncated":
        picture.write_bytes(picture.read_bytes()[:100])
    elif damage == "missing":
        picture.unlink()
    else:
        picture.with_name("000003.png").write_bytes(picture.read_bytes())
    with pytest.raises(DigitsExistError, match="files were changed, added or removed"):
        build_digits(tmp_path, TINY, ["coco"])
    build_digits(tmp_path, TINY, ["coco"], overwrite=True)
    assert contents(tmp_path) == before


def test_a_newer_generator_does_not_take_old_files_for_its_own(tmp_path, monkeypatch):
    build_digits(tmp_path, TINY, ["coco"])
    monkeypatch.setattr(module, "GENERATOR_VERSION", 99)
    with pytest.raises(DigitsExistError, match="generator_version is 1, asked for 99"):
        build_digits(tmp_path, TINY, ["coco"])


@pytest.mark.parametrize("manifest", [None, "{", "[]", '{"spec": {}}'], ids=["none", "broken", "list", "foreign"])
def test_a_foreign_folder_is_never_replaced(tmp_path, manifest):
    (tmp_path / "coco").mkdir()
    (tmp_path / "coco" / "precious.txt").write_text("mine")
    if manifest is not None:
        (tmp_path / "coco" / "digits.json").write_text(manifest)
    with pytest.raises(DigitsExistError, match=r"is not a digits data set .* choose another folder"):
        build_digits(tmp_path, TINY, ["coco"], overwrite=True)
    assert (tmp_path / "coco" / "precious.txt").read_text() == "mine"


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "coco").mkdir()
    build_digits(tmp_path, TINY, ["coco"])
    assert (tmp_path / "coco" / "digits.json").is_file()


@pytest.mark.parametrize("forms", [[], ["coco", "voc"], "coco"], ids=str)
def test_unknown_forms_are_refused(tmp_path, forms):
    with pytest.raises(ValueError, match="forms must name one or more of coco, ade20k, imagenet"):
        build_digits(tmp_path / "out", TINY, forms)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("root_exists", [False, True], ids=["new root", "root there"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, OSError], ids=lambda error: error.__name__)
def test_an_interrupted_run_leaves_nothing(tmp_path, monkeypatch, error, root_exists):
    root = tmp_path / "digits"
    if root_exists:
        root.mkdir()
    writer = module.WRITERS["imagenet"]

    def half(folder, generator):
        writer(folder, generator)
        raise error("in the middle")

    with monkeypatch.context() as patch:
        patch.setitem(module.WRITERS, "imagenet", half)
        with pytest.raises(error):
            build_digits(root, TINY)  # coco and ade20k were complete by then
    assert list(tmp_path.rglob("*")) == ([root] if root_exists else [])
    build_digits(root, TINY)
    assert sorted(path.name for path in root.iterdir()) == sorted(FORMS)


def test_an_interrupted_overwrite_keeps_the_old_data_set(tmp_path, monkeypatch):
    build_digits(tmp_path, TINY, ["coco"])
    before = contents(tmp_path)

    def fail(folder, generator):
        raise KeyboardInterrupt

    monkeypatch.setitem(module.WRITERS, "coco", fail)
    with pytest.raises(KeyboardInterrupt):
        build_digits(tmp_path, OTHER, ["coco"], overwrite=True)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("other", [TINY, OTHER], ids=["same options", "other options"])
def test_a_faster_parallel_run_is_respected(tmp_path, monkeypatch, other):
    """Another process finishes the same folder while this one is still writing."""
    root, writer = tmp_path / "digits", module.WRITERS["coco"]

    def slow(folder, generator):
        writer(folder, generator)
        with monkeypatch.context() as patch:
            patch.setitem(module.WRITERS, "coco", writer)
            build_digits(root, other, ["coco"])

    monkeypatch.setitem(module.WRITERS, "coco", slow)
    if other == TINY:
        build_digits(root, TINY, ["coco"])
    else:
        with pytest.raises(DigitsExistError, match="seed is 5, asked for 0"):
            build_digits(root, TINY, ["coco"])
    assert json.loads((root / "coco" / "digits.json").read_text())["spec"] == other.to_dict()
    assert [path.name for path in tmp_path.iterdir()] == ["digits"]
