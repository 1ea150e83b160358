"""Training, as tools/train.py starts it."""

import argparse
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.dist import get_world_size, is_main_process
from mmengine.hooks import Hook
from mmengine.registry import RUNNERS
from mmengine.runner import Runner

from csan_mm.cli.batch import describe_batch, describe_position, scale_by_effective_batch, scale_learning_rate
from csan_mm.cli.console import short_console
from csan_mm.cli.data import find_bad_image, require_data
from csan_mm.cli.errors import error_border
from csan_mm.cli.go_on import how_to_go_on
from csan_mm.cli.launch import process_group
from csan_mm.cli.overview import OverviewHook
from csan_mm.cli.recipe import describe_foreign_recipe
from csan_mm.common.config import load_config, require_writable
from csan_mm.common.config_types import type_name
from csan_mm.common.errors import UserError
from csan_mm.engine.cpu_threads import CPUThreadsHook
from csan_mm.engine.load_check import LoadCheckHook
from csan_mm.engine.resume import choose_checkpoint, describe_no_checkpoint, read_checkpoints_safely
from csan_mm.engine.resume_rates import ResumeRatesHook
from csan_mm.engine.saving import SafeSavingHook, save_whole_files
from csan_mm.preflight.fit import require_fit


def run(args: argparse.Namespace) -> None:
    """Train what ``args.config`` describes.

    Args:
        args: What tools/train.py parsed: ``config``, ``work_dir``, ``amp``, ``resume`` (None, 'auto' or a path),
            ``auto_scale_lr``, ``trust``, ``cfg_options``, ``launcher``, ``verbose``.

    Raises:
        SystemExit: With one sentence on stderr, where a user can mend the cause; nothing was written then.
    """
    cfg: Config | None = None
    threads = CPUThreadsHook()  # before the config's own code may set torch's threads
    border = error_border(args.config, lambda: find_bad_image(cfg), lambda: _advice(cfg, args.resume))
    with short_console(args.verbose), border:
        cfg = load_config(args)
        require_writable(Path(cfg.work_dir), "--work-dir")
        if args.amp:
            _use_amp(cfg)
        if args.auto_scale_lr:
            scale_learning_rate(cfg)
        require_data(cfg, ["train_dataloader"] + ["val_dataloader"] * bool(cfg.get("val_cfg")))
        read_checkpoints_safely(args.trust)
        save_whole_files()
        with process_group(cfg):
            in_vain = choose_checkpoint(cfg, args.resume, args.trust)
            runner = build_runner(cfg)
            scale_by_effective_batch(runner)
            require_fit(runner.model, cfg.model)
            runner.logger.info(describe_batch(cfg, get_world_size()))
            if recipe := describe_foreign_recipe(cfg):
                runner.logger.warning(recipe)
            if runner.cfg.get("load_from"):
                runner.register_hook(LoadCheckHook(cfg.load_from, strict=bool(cfg.resume)), priority="LOWEST")
            if cfg.resume:  # behind that check: a checkpoint of another model is named as such, not by its optimizer
                runner.register_hook(ResumeRatesHook(), priority="LOWEST")
            runner.register_hook(threads)
            runner.register_hook(SafeSavingHook(), priority="LOWEST")
            runner.register_hook(OverviewHook(), priority="LOWEST")
            steps = _StepCount(in_vain)
            runner.register_hook(steps, priority="LOWEST")
            runner.train()
            if not steps.number:
                runner.logger.warning(f"nothing was left to train: iteration {runner.iter} of {runner.max_iters}")


class _StepCount(Hook):
    """Says last of all, before the first iteration, where the training starts; counts the iterations."""

    def __init__(self, resumed_in_vain: bool) -> None:
        self.number, self._in_vain = 0, resumed_in_vain

    def before_train(self, runner: Runner) -> None:
        if runner.cfg.get("resume"):
            runner.logger.info(describe_position(runner))
        elif self._in_vain:
            runner.logger.warning(describe_no_checkpoint(runner.work_dir))

    def after_train_iter(self, *args: Any, **kwargs: Any) -> None:
        self.number += 1


def _advice(cfg: Config | None, resume: str | None) -> str | None:
    if cfg is None:
        return ""
    return how_to_go_on(cfg.work_dir, resume, cfg.launcher) if is_main_process() else None


def build_runner(cfg: Config) -> Runner:
    """mmengine's Runner, or the one that ``runner_type`` names."""
    return RUNNERS.build(cfg) if "runner_type" in cfg else Runner.from_cfg(cfg)


def _use_amp(cfg: Config) -> None:
    from mmengine.device import get_device

    wrapper = cfg.optim_wrapper
    kind = type_name(wrapper.get("type", "OptimWrapper"))
    if kind not in ("OptimWrapper", "AmpOptimWrapper"):
        raise UserError(
            f"--amp needs optim_wrapper.type='OptimWrapper', and {cfg.filename} has {kind!r}: change one of them"
        )
    if get_device() == "cpu":
        raise UserError(
            "--amp needs a GPU, and torch sees none (`python -m csan_mm doctor` tells why): leave --amp out"
        )
    wrapper.type = "AmpOptimWrapper"
    wrapper.setdefault("loss_scale", "dynamic")
