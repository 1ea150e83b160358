"""A trial of the whole training at small cost: model, weights, one training step, one evaluation, on two images of the data."""

import contextlib
import copy
import io
import json
import tempfile
from collections.abc import Iterator
from os import path as osp
from pathlib import Path
from typing import Any

from mmengine.config import Config

from csan_mm.cli.errors import explain
from csan_mm.cli.train import build_runner
from csan_mm.common.findings import Finding, Severity
from csan_mm.engine.resume import read_checkpoints_safely
from csan_mm.preflight.coco import TRIAL_IMAGES, AnnotationFile
from csan_mm.preflight.datasets import inner_datasets
from csan_mm.preflight.evaluators import evaluator_settings
from csan_mm.preflight.fit import misfits
from csan_mm.preflight.progress import announce

#: Pictures are scaled down to this many pixels a side behind the config's own pipeline. Ours.
_SIDE = 256

_CURE = "correct the config; the same would stop the training"


def trial(cfg: Config, files: dict[str, AnnotationFile], with_data: bool) -> Iterator[Finding]:
    """Build what training builds and, where the data are in order, train one step and evaluate once, on the CPU.

    Args:
        cfg: The config.
        files: Its annotation files by their real paths, with their excerpts.
        with_data: Whether to go beyond building the model and reading its weights.
    """
    announce("trial: the model, one training step and one evaluation on two images")
    with tempfile.TemporaryDirectory() as folder:
        small = _small_config(cfg, files, Path(folder))
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), _on_the_cpu():
                runner = _build(small)
                sentences = list(misfits(runner.model, cfg.model))
                if not sentences:
                    _run(runner, with_data and cfg.get("train_dataloader") is not None)
        except Exception as error:  # whatever would stop the training
            sentence = explain(error, str(cfg.filename)) or f"{type(error).__name__}: {_short(error)}"
            yield Finding(Severity.FAULT, "trial", sentence, _CURE)
            return
    for sentence in sentences:
        yield Finding(Severity.FAULT, "model", sentence, _CURE)
    if not sentences:
        steps = (
            "one training step and one evaluation on two images" if with_data else "building it and reading its weights"
        )
        yield Finding(Severity.NOTE, "trial", f"the model went through {steps}")


def _build(cfg: Config) -> Any:
    read_checkpoints_safely(False)
    return build_runner(cfg)


def _run(runner: Any, with_data: bool) -> None:
    if with_data:
        runner.train()
    else:
        runner._init_model_weights()
        runner.load_or_resume()


@contextlib.contextmanager
def _on_the_cpu() -> Iterator[None]:
    """mmengine asks this module variable for the device."""
    from mmengine.device import utils

    before, utils.DEVICE = utils.DEVICE, "cpu"
    try:
        yield
    finally:
        utils.DEVICE = before


def _short(error: Exception) -> str:
    """The error's own words in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if "Traceback" in str(error) else " ".join(lines))[:400] if lines else "no message"


def _small_config(cfg: Config, files: dict[str, AnnotationFile], folder: Path) -> Config:
    """The config with two images a data set, one step, no workers and nothing written outside ``folder``."""
    small = copy.deepcopy(cfg)
    small.work_dir, small.resume, small.launcher, small.log_level = str(folder), False, "none", "ERROR"
    small.experiment_name = folder.name
    excerpts = _write_excerpts(files, folder)
    for split in ("train", "val", "test"):
        if loader := small.get(f"{split}_dataloader"):
            _shrink_loader(loader, split, excerpts)
        for settings in evaluator_settings(small, f"{split}_evaluator"):
            if settings.get("ann_file"):
                settings["ann_file"] = excerpts.get(osp.realpath(settings["ann_file"]), settings["ann_file"])
            if settings.get("outfile_prefix"):
                settings["outfile_prefix"] = str(folder / "results")
    if loop := small.get("train_cfg"):
        kind = getattr(loop.get("type"), "__name__", loop.get("type") or "")
        by_epoch = loop.get("by_epoch", kind.rpartition(".")[2].startswith("Epoch"))
        kept = {key: loop[key] for key in ("type", "by_epoch") if key in loop}
        small.train_cfg = {**kept, "max_epochs" if by_epoch else "max_iters": 1, "val_interval": 1}
    hooks = {**(small.get("default_hooks") or {}), "checkpoint": None, "logger": None}
    hooks.pop("visualization", None)
    small.default_hooks = hooks
    if isinstance(small.get("visualizer"), dict):
        small.visualizer["vis_backends"] = None
    wrapper = small.get("optim_wrapper") or {}
    if wrapper.get("type") == "AmpOptimWrapper":  # which needs a GPU
        wrapper["type"] = "OptimWrapper"
        for key in ("loss_scale", "dtype", "use_fp16"):
            wrapper.pop(key, None)
    return small


def _write_excerpts(files: dict[str, AnnotationFile], folder: Path) -> dict[str, str]:
    """The excerpts as files: real path of the whole file -> path of its excerpt."""
    written = {}
    for number, (real, file) in enumerate(files.items()):
        if file.excerpt is not None:
            path = folder / f"{number}.json"
            path.write_text(json.dumps(file.excerpt))
            written[real] = str(path)
    return written


def _shrink_loader(loader: dict, split: str, excerpts: dict[str, str]) -> None:
    if isinstance(loader.get("batch_size"), int):
        loader["batch_size"] = min(loader["batch_size"], TRIAL_IMAGES)
    if loader.get("num_workers"):
        loader["num_workers"], loader["persistent_workers"] = 0, False
        loader.pop("prefetch_factor", None)
    outer = loader.get("dataset")
    if not outer:
        return
    _once(outer)
    for _, dataset in inner_datasets(outer, ""):
        whole = osp.join(dataset.get("data_root") or "", dataset.get("ann_file") or "")
        if (excerpt := excerpts.get(osp.realpath(whole))) is not None:
            dataset["ann_file"] = excerpt
        else:
            dataset["indices"] = TRIAL_IMAGES
        if "pipeline" in dataset:
            dataset["pipeline"] = _with_small_pictures(dataset["pipeline"], split)


def _once(dataset: dict) -> None:
    """A RepeatDataset goes through its data once."""
    if "times" in dataset:
        dataset["times"] = 1
    for inner in [dataset["dataset"]] if "dataset" in dataset else dataset.get("datasets", []):
        _once(inner)


def _sides(size: Any) -> tuple[float, ...]:
    """Both sides of a crop, from one number or two."""
    return tuple(size) if isinstance(size, (list, tuple)) else (size, size)


def _with_small_pictures(pipeline: list[dict], split: str) -> list[dict]:
    """The pipeline with small pictures: in training a Resize before its end, unless it crops to as small a size itself.

    Behind such a crop a Resize would enlarge, and pictures of several shapes no longer fit into the model's padding.

    In evaluation its own Resize gets the small scale: a second one would overwrite the factor by which boxes go back to the
    original picture. Where there is none, one stands before the ground truth is loaded, as there.
    """
    names = [str(step.get("type", "")).rpartition(".")[2] for step in pipeline]
    pack = next((place for place, name in enumerate(names) if name in ("PackDetInputs", "PackSegInputs")), None)
    if pack is None:
        return pipeline
    small = {"type": "Resize", "scale": (_SIDE, _SIDE), "keep_ratio": True}
    if split == "train":
        # Sides below 1 are shares of the picture.
        if any(1 < max(_sides(step["crop_size"])) <= _SIDE for step in pipeline if step.get("crop_size")):
            return pipeline
        return [*pipeline[:pack], small, *pipeline[pack:]]
    resized = [place for place, name in enumerate(names) if "Resize" in name]
    if not resized:
        return pipeline
    last = resized[-1]
    own = names[last] == "Resize" and len(resized) == 1
    return [*pipeline[:last], *([] if own else [pipeline[last]]), small, *pipeline[last + 1 :]]
