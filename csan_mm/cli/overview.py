"""What a training is, in a few lines before its first iteration, and what it wrote, behind its last."""

import torch
from mmengine.device import get_device
from mmengine.dist import get_world_size
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.runner import BaseLoop, Runner
from torch import nn

from csan_mm.common.config_types import type_name


class OverviewHook(Hook):
    """Logs where, on what device, with how many images, which model and which weights a training starts, and what it wrote.

    Register it with priority LOWEST: weights are loaded then, and the other hooks are ready.
    """

    def before_train(self, runner: Runner) -> None:
        """The lines before the first iteration."""
        for line in (_place(runner), _device(runner), _data(runner), _model(runner), _weights(runner)):
            runner.logger.info(line)

    def after_train(self, runner: Runner) -> None:
        """The line behind the last iteration."""
        last = runner.message_hub.runtime_info.get("last_ckpt")
        best = [path for name, path in runner.message_hub.runtime_info.items() if name.startswith("best_ckpt") and path]
        written = [f"last checkpoint {last}"] * bool(last) + [f"best checkpoint {path}" for path in best]
        runner.logger.info(f"wrote: {', '.join([*written, f'log {runner.logger.log_file}'])}")


def _place(runner: Runner) -> str:
    return f"work dir: {runner.work_dir}; config, environment and settings in full: {runner.logger.log_file}"


def _device(runner: Runner) -> str:
    processes, device, threads = get_world_size(), get_device(), torch.get_num_threads()
    kind = {"cuda": torch.cuda.get_device_name, "cpu": lambda: f"CPU, {threads} thread{'s' * (threads > 1)}"}
    name = kind[device]() if device in kind else device
    return f"device: {f'{processes} x ' if processes > 1 else ''}{name}"


def _data(runner: Runner) -> str:
    validated = [f"{_images(runner.val_loop)} to validate on"] if runner.val_loop is not None else []
    return f"data: {', '.join([f'{_images(runner.train_loop)} images to train on', *validated])}"


def _images(loop: BaseLoop) -> int:
    return len(loop.dataloader.dataset)


def _model(runner: Runner) -> str:
    model = runner.model.module if is_model_wrapper(runner.model) else runner.model
    counts = [parameter.numel() for parameter in model.parameters()]
    trained = [parameter.numel() for parameter in model.parameters() if parameter.requires_grad]
    backbone = getattr(model, "backbone", None)
    within = f" with {type(backbone).__name__}" if isinstance(backbone, nn.Module) else ""
    frozen = f", {_millions(sum(trained))} of them trained" if sum(trained) < sum(counts) else ""
    return f"model: {type(model).__name__}{within}, {_millions(sum(counts))} parameters{frozen}"


def _millions(count: int) -> str:
    return f"{count / 1e6:.2f} million"


def _weights(runner: Runner) -> str:
    cfg = runner.cfg
    if cfg.get("resume"):
        return f"weights: resumed from {cfg.load_from}"
    if cfg.get("load_from"):
        return f"weights: {cfg.load_from}"
    files = sorted(set(_pretrained(cfg.model)))
    return f"weights: {', '.join(files)}" if files else "weights: none, training starts from random ones"


def _pretrained(settings: object) -> list[str]:
    """The files that an ``init_cfg`` somewhere in the model's settings names."""
    if isinstance(settings, (list, tuple)):
        return [file for inner in settings for file in _pretrained(inner)]
    if not isinstance(settings, dict):
        return []
    is_file = type_name(settings.get("type", "")) == "Pretrained" and settings.get("checkpoint")
    own = [settings["checkpoint"]] if is_file else []
    return own + [file for inner in settings.values() for file in _pretrained(inner)]
