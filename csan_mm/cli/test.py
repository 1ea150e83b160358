"""Evaluation, as tools/test.py starts it."""

import argparse
from pathlib import Path

from mmengine.config import Config, ConfigDict
from mmengine.registry import METRICS

from csan_mm.checkpoint.fetch import require_checkpoint
from csan_mm.cli.data import find_bad_image, require_data
from csan_mm.cli.errors import error_border
from csan_mm.cli.launch import process_group
from csan_mm.cli.train import build_runner
from csan_mm.common.config import load_config, require_writable
from csan_mm.common.errors import UserError
from csan_mm.engine.load_check import LoadCheckHook
from csan_mm.engine.resume import read_checkpoints_safely
from csan_mm.preflight.datasets import inner_datasets


def run(args: argparse.Namespace) -> None:
    """Evaluate ``args.checkpoint`` as ``args.config`` describes.

    Args:
        args: What tools/test.py parsed: ``config``, ``checkpoint``, ``work_dir``, ``out``, ``show_dir``, ``tta``,
            ``trust``, ``cfg_options``, ``launcher``.

    Raises:
        SystemExit: With one sentence on stderr, where a user can mend the cause.
    """
    cfg: Config | None = None
    with error_border(args.config, lambda: find_bad_image(cfg)):
        cfg = load_config(args)
        _require_test_settings(cfg, args)
        cfg.load_from, cfg.resume = args.checkpoint, False
        if args.show_dir:
            _draw_into(cfg, str(Path(args.show_dir).resolve()))
        if args.tta:
            _augment(cfg)
        if args.out:
            require_writable(Path(args.out).parent, "--out")
        dump = _dump_into(cfg, args.out) if args.out else None
        require_data(cfg, ["test_dataloader"])
        read_checkpoints_safely(args.trust)
        with process_group(cfg):
            runner = build_runner(cfg)
            runner.register_hook(LoadCheckHook(args.checkpoint, strict=True), priority="LOWEST")
            if dump:
                runner.test_evaluator.metrics.append(METRICS.build(dump))
            runner.test()


def _require_test_settings(cfg: Config, args: argparse.Namespace) -> None:
    require_checkpoint(args.checkpoint)
    absent = [name for name in ("test_cfg", "test_dataloader", "test_evaluator") if cfg.get(name) is None]
    if absent:
        raise UserError(f"config {args.config} sets no {', '.join(absent)}: add what is to be tested")


def _draw_into(cfg: Config, folder: str) -> None:
    """Each family's hook has its own words for "draw every image into this folder"."""
    hook = (cfg.get("default_hooks") or {}).get("visualization")
    kind = hook.type.rpartition(".")[2] if hook else None
    if kind == "DetVisualizationHook":
        hook.update(draw=True, test_out_dir=folder)
    elif kind == "SegVisualizationHook":
        hook.update(draw=True, interval=1)
        cfg.visualizer.save_dir = folder
    elif kind == "VisualizationHook":
        hook.update(enable=True, interval=1, out_dir=folder)
    else:
        raise UserError(
            f"--show-dir needs default_hooks.visualization in {cfg.filename}: a DetVisualizationHook, SegVisualizationHook or "
            f"mmpretrain's VisualizationHook"
        )


def _augment(cfg: Config) -> None:
    absent = [name for name in ("tta_model", "tta_pipeline") if name not in cfg]
    if absent:
        raise UserError(f"--tta needs {' and '.join(absent)} in {cfg.filename}: add them, or leave --tta out")
    cfg.model = ConfigDict(**cfg.tta_model, module=cfg.model)
    for _, dataset in inner_datasets(cfg.test_dataloader.dataset, "test_dataloader.dataset"):
        dataset.pipeline = cfg.tta_pipeline


def _dump_into(cfg: Config, out: str) -> dict | None:
    """A metric that writes the predictions; segmentation maps go as PNGs into a folder, since pickled logits would be huge."""
    if cfg.get("default_scope") == "mmseg":
        evaluators = cfg.test_evaluator if isinstance(cfg.test_evaluator, list) else [cfg.test_evaluator]
        for evaluator in evaluators:
            evaluator.output_dir = out
        return None
    if not out.endswith((".pkl", ".pickle")):
        raise UserError(f"--out {out}: predictions are written to a .pkl or .pickle file", exit_code=2)
    kind = "mmdet.DumpDetResults" if cfg.get("default_scope") == "mmdet" else "DumpResults"
    return {"type": kind, "out_file_path": out}
