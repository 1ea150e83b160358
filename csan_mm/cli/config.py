"""Reading a config as the command line asks for it."""

import argparse
from pathlib import Path
from typing import Any

from mmengine.config import Config, DictAction

from csan_mm.cli.errors import UserError
from csan_mm.engine.data_root import override_data_root

DATALOADERS = ("train_dataloader", "val_dataloader", "test_dataloader")


def load_config(args: argparse.Namespace) -> Config:
    """The config with the options of the command line merged in.

    Args:
        args: ``config``, ``cfg_options`` (list of "key=value"), ``work_dir`` or None, ``launcher``.

    Raises:
        UserError: It cannot be read, is no config of a training, or an option does not fit it.
    """
    cfg = read_config(args.config)
    _merge_options(cfg, args.cfg_options)
    cfg.launcher = args.launcher
    if args.work_dir is not None:
        cfg.work_dir = args.work_dir
    elif cfg.get("work_dir") is None:
        cfg.work_dir = str(Path("work_dirs") / Path(args.config).stem)
    _collate_as_mmpretrain(cfg)
    return cfg


def read_config(path: str) -> Config:
    """Read a config file.

    Raises:
        UserError: It is missing or cannot be read, or has no ``model``.
    """
    if not Path(path).is_file():
        raise UserError(f"config {path} does not exist: check the path (a config is given by its path, not its name)")
    try:
        cfg = Config.fromfile(path)
    except Exception as error:  # whatever a config's own code can raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"config {path} cannot be read ({type(error).__name__}: {reason[:300]}): correct the file"
        ) from error
    if "model" not in cfg:
        raise UserError(f"config {path} has no `model`: give the config of a training, not one of its bases")
    return cfg


def _merge_options(cfg: Config, options: list[str]) -> None:
    if not options:
        return
    wrong = [option for option in options if "=" not in option]
    if wrong:
        raise UserError(f"--cfg-options {wrong[0]!r} is not of the form key=value", exit_code=2)
    parser = argparse.ArgumentParser()
    parser.add_argument("--cfg-options", nargs="+", action=DictAction)
    parsed: dict[str, Any] = parser.parse_args(["--cfg-options", *options]).cfg_options
    old_root = cfg.get("data_root")
    try:
        cfg.merge_from_dict(parsed)
        if old_root and parsed.get("data_root"):
            override_data_root(cfg, old_root, parsed["data_root"])
    except (KeyError, TypeError, AssertionError) as error:
        raise UserError(f"--cfg-options {' '.join(options)} do not fit the config: {error}", exit_code=2) from error


def _collate_as_mmpretrain(cfg: Config) -> None:
    """mmpretrain's models take stacked batches; its tools make that the default of its data loaders, so do we."""
    if cfg.get("default_scope") != "mmpretrain":
        return
    for name in DATALOADERS:
        if cfg.get(name):
            cfg[name].setdefault("collate_fn", {"type": "default_collate"})
