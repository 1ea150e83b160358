"""Evaluation, as tools/test.py starts it."""

import argparse
from pathlib import Path

from mmengine.config import Config, ConfigDict
from mmengine.registry import METRICS
from mmengine.runner import Runner
from mmengine.visualization import Visualizer

from csan_mm.checkpoint.fetch import require_checkpoint
from csan_mm.cli.console import short_console
from csan_mm.cli.data import find_bad_image, require_data
from csan_mm.cli.errors import error_border
from csan_mm.cli.launch import process_group
from csan_mm.cli.train import build_runner
from csan_mm.common.config import load_config, require_writable
from csan_mm.common.config_types import inner_datasets, library_of
from csan_mm.common.errors import UserError
from csan_mm.engine.load_check import LoadCheckHook
from csan_mm.engine.results import DrawResults, LabelMaps, ResultNames
from csan_mm.engine.resume import read_checkpoints_safely


def run(args: argparse.Namespace) -> None:
    """Evaluate ``args.checkpoint`` as ``args.config`` describes.

    Args:
        args: What tools/test.py parsed: ``config``, ``checkpoint``, ``work_dir``, ``out``, ``show_dir``, ``tta``,
            ``trust``, ``cfg_options``, ``launcher``, ``verbose``.

    Raises:
        SystemExit: With one sentence on stderr, where a user can mend the cause.
    """
    cfg: Config | None = None
    with short_console(args.verbose), error_border(args.config, lambda: find_bad_image(cfg)):
        cfg = load_config(args)
        _require_test_settings(cfg, args)
        cfg.load_from, cfg.resume = args.checkpoint, False
        if args.show_dir:
            require_writable(Path(args.show_dir), "--show-dir")
        if args.tta:
            _augment(cfg)
        if args.out:
            _check_out(cfg, args.out)
        require_data(cfg, ["test_dataloader"])
        read_checkpoints_safely(args.trust)
        with process_group(cfg):
            runner = build_runner(cfg)
            runner.register_hook(LoadCheckHook(args.checkpoint, strict=True), priority="LOWEST")
            names = ResultNames(runner.test_dataloader.dataset)
            if args.show_dir:
                _draw_into(runner, Path(args.show_dir), names)
            if args.out:
                _dump_into(runner, args.out, names)
            runner.test()


def _require_test_settings(cfg: Config, args: argparse.Namespace) -> None:
    require_checkpoint(args.checkpoint)
    absent = [name for name in ("test_cfg", "test_dataloader", "test_evaluator") if cfg.get(name) is None]
    if absent:
        raise UserError(f"config {args.config} sets no {', '.join(absent)}: add what is to be tested")


def _draw_into(runner: Runner, folder: Path, names: ResultNames) -> None:
    """Draw every image into this folder, whatever library and visualization hook the config has."""
    visualizer = runner.visualizer
    if not hasattr(visualizer, "visualize_cls") and type(visualizer) is Visualizer:
        raise UserError(
            f"--show-dir needs a `visualizer` in {runner.cfg.filename} that can draw results: a DetLocalVisualizer, "
            f"SegLocalVisualizer or UniversalVisualizer"
        )
    hook = (runner.cfg.get("default_hooks") or {}).get("visualization") or {}
    runner.register_hook(DrawResults(folder.resolve(), names, hook.get("score_thr", 0.3)))


def _augment(cfg: Config) -> None:
    absent = [name for name in ("tta_model", "tta_pipeline") if name not in cfg]
    if absent:
        raise UserError(f"--tta needs {' and '.join(absent)} in {cfg.filename}: add them, or leave --tta out")
    cfg.model = ConfigDict(**cfg.tta_model, module=cfg.model)
    for _, dataset in inner_datasets(cfg.test_dataloader.dataset, "test_dataloader.dataset"):
        dataset.pipeline = cfg.tta_pipeline


def _dump_into(runner: Runner, out: str, names: ResultNames) -> None:
    """Write the predictions; segmentation maps go as PNGs into a folder, since pickled logits would be huge."""
    metrics = runner.test_evaluator.metrics
    library = library_of(runner.cfg)
    if library == "mmseg":
        # With format_only and no folder of its own, a metric is there for nothing but writing these maps.
        metrics[:] = [one for one in metrics if not (getattr(one, "format_only", False) and not one.output_dir)]
        metrics.append(LabelMaps(Path(out), names))
    else:
        metrics.append(
            METRICS.build(
                {"type": "mmdet.DumpDetResults" if library == "mmdet" else "DumpResults", "out_file_path": out}
            )
        )


def _check_out(cfg: Config, out: str) -> None:
    require_writable(Path(out).parent, "--out")
    if library_of(cfg) != "mmseg" and not out.endswith((".pkl", ".pickle")):
        raise UserError(f"--out {out}: predictions are written to a .pkl or .pickle file", exit_code=2)
