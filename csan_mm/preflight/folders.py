"""Classification in ImageNet's form: a folder for each class, or a list of files with labels."""

from collections.abc import Iterator
from pathlib import Path

from csan_mm.common.findings import Finding, Severity
from csan_mm.preflight.classes import compare_classes
from csan_mm.preflight.datasets import OpenedDataset
from csan_mm.preflight.images import check_images, image_loader
from csan_mm.preflight.samples import Sample


def check_folders(opened: OpenedDataset, quick: bool = False) -> Iterator[Finding]:
    """Everything about a classification data set: folders, labels, images.

    Args:
        opened: The data set.
        quick: Read a choice of the images only. Default: False.
    """
    dataset, where = opened.dataset, opened.where
    if not dataset.ann_file and getattr(dataset, "with_label", True):
        yield from _check_class_folders(opened)
    try:
        entries = dataset.load_data_list()
    except Exception as error:  # whatever the data set's own code raises
        place = dataset.ann_file or dataset.img_prefix
        yield Finding(Severity.FAULT, str(place), f"cannot be read ({error})", "correct data_prefix or ann_file", where)
        return
    yield from _check_labels(entries, opened)
    samples = [Sample(entry["img_path"]) for entry in entries]
    yield from check_images(samples, where, image_loader(dataset.pipeline.transforms), quick)


def _check_class_folders(opened: OpenedDataset) -> Iterator[Finding]:
    root = Path(opened.dataset.img_prefix)
    folders = sorted(folder for folder in root.iterdir() if folder.is_dir()) if root.is_dir() else []
    for folder in folders:
        if not any(opened.dataset.is_valid_file(path.name) for path in folder.rglob("*")):
            says = f"has no image ({', '.join(sorted(opened.dataset.extensions))})"
            yield Finding(Severity.WARNING, str(folder), says, "fill or remove the folder", opened.where)
    if opened.classes and not isinstance(opened.classes, str) and _names_folders(opened.classes, folders):
        yield from compare_classes(opened.classes, [folder.name for folder in folders], opened.where, str(root))


def _names_folders(classes: list[str], folders: list[Path]) -> bool:
    """ImageNet's folders are called n01440764 and its classes tench: comparing makes sense only where one name is shared."""
    return bool({folder.name for folder in folders} & set(classes))


def _check_labels(entries: list[dict], opened: OpenedDataset) -> Iterator[Finding]:
    if opened.classes is None or isinstance(opened.classes, str):
        return
    for entry in entries:
        label = entry.get("gt_label", 0)
        if not 0 <= label < len(opened.classes):
            says = f"has the label {label}, and there are {len(opened.classes)} classes"
            yield Finding(Severity.FAULT, entry["img_path"], says, "correct the label, counted from 0", opened.where)
