"""The report of ``csan_mm preflight``."""

import argparse
import sys
import warnings
from collections.abc import Iterator
from os import path as osp

from mmengine.config import Config, ConfigDict

from csan_mm.cli.trial import trial
from csan_mm.common.config import DATALOADERS, merge_options, read_config
from csan_mm.common.errors import UserError
from csan_mm.common.findings import Finding, Severity, as_json, as_text, exit_code, summary
from csan_mm.preflight.classes import check_class_setting, check_heads
from csan_mm.preflight.coco import AnnotationFile, check_annotation_file, check_loaded
from csan_mm.preflight.datasets import (
    OpenedDataset,
    dataset_settings,
    evaluator_files,
    inner_datasets,
    missing_paths,
    open_dataset,
)
from csan_mm.preflight.evaluators import coco_evaluations
from csan_mm.preflight.folders import check_folders
from csan_mm.preflight.segmentation import check_segmentation


def run(args: argparse.Namespace) -> int:
    """Check the data of a config and print one report.

    Args:
        args: ``config``, ``json``, ``quick``, ``no_trial``, ``cfg_options``.

    Returns:
        The exit status: 0 all well (notes at most), 1 warnings, 2 faults.
    """
    try:
        cfg = read_config(args.config)
        merge_options(cfg, args.cfg_options)
        # Decoders warn of what is reported here anyway. Set once, by the main thread: it holds for the whole process.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            files: dict[str, AnnotationFile] = {}
            findings = list(check_config(cfg, args.quick, files))
            if not args.no_trial:
                findings += trial(cfg, files, with_data=exit_code(findings) < Severity.FAULT)
    except UserError as error:
        findings = [Finding(Severity.FAULT, args.config, str(error))]
    if args.json:
        sys.stdout.write(as_json(findings) + "\n")
    else:
        sys.stdout.write("\n".join(filter(None, [as_text(findings), f"{args.config}: {summary(findings)}"])) + "\n")
    return exit_code(findings)


def check_config(cfg: Config, quick: bool = False, files: dict[str, AnnotationFile] | None = None) -> Iterator[Finding]:
    """Check every data set of a config, what the metrics read, and the heads; each annotation file is read once.

    Args:
        cfg: A config with a ``model``.
        quick: Look at the annotations and at a choice of the images and label maps. Default: False.
        files: Filled with the COCO files by their real paths. Default: not kept.
    """
    files = {} if files is None else files
    places = list(dataset_settings(cfg, DATALOADERS))
    if not places:
        yield Finding(Severity.FAULT, str(cfg.filename), "sets no data loader", f"set one of {', '.join(DATALOADERS)}")
    for where, settings in places:
        opened = yield from _open(cfg, where, settings)
        if opened is None:
            continue
        if _is_coco(opened):
            path = opened.dataset.ann_file
            files.setdefault(osp.realpath(path), AnnotationFile(path)).datasets.append(opened)
        else:
            yield from _check_form(opened, quick)
    _add_evaluations(cfg, files)
    for file in files.values():
        yield from check_annotation_file(file, quick)
    yield from _check_evaluators(cfg)


def _open(cfg: Config, where: str, settings: ConfigDict) -> Iterator[Finding]:
    """Open a data set and look at its settings.

    Yields:
        What is wrong with them.

    Returns:
        The opened data set; None where its files cannot be looked at.
    """
    try:
        opened = open_dataset(cfg, where, settings)
    except Exception as error:  # whatever the data set's or a transform's constructor raises
        says = f"cannot be built ({type(error).__name__}: {error})"
        yield Finding(Severity.FAULT, where, says, "correct its settings")
        return None
    if opened.dataset is None:
        yield Finding(Severity.NOTE, where, f"{settings.type} is not of a kind that can be checked")
        return None
    missing = [
        Finding(
            Severity.FAULT, path, f"does not exist ({setting})", f"put it there, or correct {where}.data_root", where
        )
        for setting, path in missing_paths(opened)
    ]
    yield from missing
    yield from check_class_setting(opened)
    yield from check_heads(opened, cfg.model)
    return None if missing else opened


def _is_coco(opened: OpenedDataset) -> bool:
    """Whether it reads COCO's instances form with mmdet's own code; LVIS and panoptic files inherit the class and do not."""
    for kind in type(opened.dataset).__mro__:
        if kind.__name__ == "CocoDataset":
            own = ("load_data_list", "parse_data_info", "COCOAPI")
            return all(getattr(type(opened.dataset), name) is getattr(kind, name) for name in own)
    return False


def _check_form(opened: OpenedDataset, quick: bool) -> Iterator[Finding]:
    if opened.is_a("BaseSegDataset"):
        yield from check_segmentation(opened, quick)
    elif opened.is_a("CustomDataset", "ImageNet"):
        yield from check_folders(opened, quick)
    elif opened.is_a("BaseDetDataset"):
        yield from check_loaded(opened, quick)
    else:
        yield Finding(Severity.NOTE, opened.where, f"the files of a {type(opened.dataset).__name__} are not checked")


def _add_evaluations(cfg: Config, files: dict[str, AnnotationFile]) -> None:
    """Put every COCO metric to the file it scores against; one without a file scores against its data sets'."""
    for split in ("val", "test"):
        outer = (cfg.get(f"{split}_dataloader") or {}).get("dataset")
        if not outer:
            continue
        parts = [settings for _, settings in inner_datasets(outer, "")]
        read = [file for file in files.values() if any(opened.settings in parts for opened in file.datasets)]
        classes = read[0].datasets[0].classes if read else None
        for evaluation in coco_evaluations(cfg, split, classes):
            if evaluation.path is None:
                for file in read:
                    file.evaluations.append(evaluation)
            elif osp.exists(evaluation.path):
                key = osp.realpath(evaluation.path)
                files.setdefault(key, AnnotationFile(evaluation.path)).evaluations.append(evaluation)


def _check_evaluators(cfg: Config) -> Iterator[Finding]:
    """A metric reads the same annotation file as its data loader."""
    for name in ("val", "test"):
        parts = [settings for _, settings in dataset_settings(cfg, (f"{name}_dataloader",))]
        own = {osp.normpath(osp.join(part.get("data_root") or "", part.get("ann_file") or "")) for part in parts}
        for path in evaluator_files(cfg, f"{name}_evaluator"):
            where = f"{name}_evaluator"
            if not osp.exists(path):
                yield Finding(Severity.FAULT, path, "does not exist (ann_file)", f"correct {where}.ann_file", where)
            elif osp.normpath(path) not in own:
                says = f"is not the annotation file of {name}_dataloader: results would be empty or wrong"
                yield Finding(Severity.WARNING, path, says, "give both the same file", where)
