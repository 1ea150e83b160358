"""The report of ``python -m csan_mm preflight``."""

import argparse
import sys
from collections.abc import Callable, Iterator
from os import path as osp

from mmengine.config import Config, ConfigDict

from csan_mm.common.config import DATALOADERS, merge_options, read_config
from csan_mm.common.errors import UserError
from csan_mm.common.findings import Finding, Severity, as_json, as_text, exit_code, summary
from csan_mm.preflight.classes import check_class_setting, check_heads
from csan_mm.preflight.coco import check_coco
from csan_mm.preflight.datasets import OpenedDataset, dataset_settings, evaluator_files, missing_paths, open_dataset
from csan_mm.preflight.folders import check_folders
from csan_mm.preflight.segmentation import check_segmentation

#: Forms of data sets, by the name of a class among their ancestors.
_FORMS: dict[tuple[str, ...], Callable[[OpenedDataset], Iterator[Finding]]] = {
    ("CocoDataset",): check_coco,
    ("BaseSegDataset",): check_segmentation,
    ("CustomDataset", "ImageNet"): check_folders,
}


def run(args: argparse.Namespace) -> int:
    """Check the data of a config and print one report.

    Args:
        args: ``config``, ``json``, ``cfg_options``.

    Returns:
        The exit status: 0 all well (notes at most), 1 warnings, 2 faults.
    """
    try:
        cfg = read_config(args.config)
        merge_options(cfg, args.cfg_options)
        findings = list(check_config(cfg))
    except UserError as error:
        findings = [Finding(Severity.FAULT, args.config, str(error))]
    if args.json:
        sys.stdout.write(as_json(findings) + "\n")
    else:
        sys.stdout.write("\n".join(filter(None, [as_text(findings), f"{args.config}: {summary(findings)}"])) + "\n")
    return exit_code(findings)


def check_config(cfg: Config) -> Iterator[Finding]:
    """Check every data set of a config, what the metrics read, and the heads.

    Args:
        cfg: A config with a ``model``.
    """
    places = list(dataset_settings(cfg, DATALOADERS))
    if not places:
        yield Finding(Severity.FAULT, str(cfg.filename), "sets no data loader", f"set one of {', '.join(DATALOADERS)}")
    for where, settings in places:
        yield from check_dataset(cfg, where, settings)
    yield from _check_evaluators(cfg)


def check_dataset(cfg: Config, where: str, settings: ConfigDict) -> Iterator[Finding]:
    """Check one data set.

    Args:
        cfg: The whole config.
        where: The data set's place in it.
        settings: The data set's config.
    """
    try:
        opened = open_dataset(cfg, where, settings)
    except Exception as error:  # whatever the data set's or a transform's constructor raises
        yield Finding(
            Severity.FAULT, where, f"cannot be built ({type(error).__name__}: {error})", "correct its settings"
        )
        return
    if opened.dataset is None:
        yield Finding(Severity.NOTE, where, f"{settings.type} is not of a kind that can be checked")
        return
    missing = [
        Finding(
            Severity.FAULT, path, f"does not exist ({setting})", f"put it there, or correct {where}.data_root", where
        )
        for setting, path in missing_paths(opened)
    ]
    yield from missing
    yield from check_class_setting(opened)
    yield from check_heads(opened, cfg.model)
    if not missing:
        yield from _check_form(opened)


def _check_form(opened: OpenedDataset) -> Iterator[Finding]:
    for names, check in _FORMS.items():
        if opened.is_a(*names):
            yield from check(opened)
            return
    yield Finding(Severity.NOTE, opened.where, f"the files of a {type(opened.dataset).__name__} are not checked")


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
