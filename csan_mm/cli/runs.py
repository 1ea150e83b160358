"""A trained model with its test data, for what is measured on both."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from mmengine.runner import Runner
from torch import Tensor

from csan_mm.checkpoint.fetch import require_checkpoint
from csan_mm.cli.data import require_data
from csan_mm.cli.train import build_runner
from csan_mm.common.config import load_config
from csan_mm.common.errors import UserError
from csan_mm.engine.load_check import LoadCheckHook
from csan_mm.engine.resume import read_checkpoints_safely


def trained_runner(
    config: str, checkpoint: str, cfg_options: Sequence[str] = (), work_dir: str | None = None, trust: bool = False
) -> Runner:
    """A Runner whose model has the weights of a checkpoint and is in eval mode.

    Args:
        config: Path of the config.
        checkpoint: Path of the checkpoint.
        cfg_options: Settings to override, 'key=value'.
        work_dir: Where logs go. Default: as tools/test.py has it.
        trust: Unpickle a file that cannot be read otherwise, which runs the code in it. Default: False.

    Raises:
        UserError: Config, checkpoint or data are missing.
    """
    require_checkpoint(checkpoint)
    options = argparse.Namespace(config=config, cfg_options=list(cfg_options), work_dir=work_dir, launcher="none")
    cfg = load_config(options)
    cfg.load_from, cfg.resume, cfg.log_level = checkpoint, False, "WARNING"
    cfg.experiment_name = f"{Path(config).stem}_{Path(checkpoint).stem}"
    require_data(cfg, ["test_dataloader"])
    read_checkpoints_safely(trust)
    runner = build_runner(cfg)
    runner.register_hook(LoadCheckHook(checkpoint, strict=True), priority="LOWEST")
    runner.load_or_resume()
    runner.model.eval()
    return runner


def score(runner: Runner, metric: str | None = None) -> float:
    """Test the model and return one of its metrics, by default the first.

    Raises:
        UserError: There is no such metric; the message lists those there are.
    """
    metrics = runner.test()
    name = metric or next(iter(metrics))
    if name not in metrics:
        raise UserError(f"--metric {name} is not measured: take one of {', '.join(metrics)}")
    return float(metrics[name])


@torch.no_grad()
def preprocessed_batches(runner: Runner, num_images: int) -> Iterator[Tensor]:
    """Test images as the backbone gets them, (B, 3, H, W), until there are ``num_images`` or no more."""
    loader = runner.build_dataloader(runner.cfg.test_dataloader)
    seen = 0
    for data in loader:
        inputs = runner.model.data_preprocessor(data, False)["inputs"][: num_images - seen]
        seen += len(inputs)
        yield inputs
        if seen >= num_images:
            return
