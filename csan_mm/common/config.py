"""Reading a config as the command line asks for it."""

import argparse
import os
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any

from mmengine.config import Config, DictAction
from mmengine.runner import Runner

from csan_mm.common.config_types import library_of
from csan_mm.common.data_root import override_data_root
from csan_mm.common.errors import UserError
from csan_mm.common.package_configs import resolve_config

DATALOADERS = ("train_dataloader", "val_dataloader", "test_dataloader")

#: What a DataLoader takes only with workers.
WORKER_SETTINGS = {"persistent_workers", "prefetch_factor", "timeout", "multiprocessing_context"}


def load_config(args: argparse.Namespace) -> Config:
    """The config with the options of the command line merged in.

    Args:
        args: ``config``, ``cfg_options`` (list of "key=value"), ``work_dir`` or None, ``launcher``.

    Raises:
        UserError: It cannot be read, is not a config of a training, or an option does not fit it.
    """
    cfg = read_config(args.config)
    merge_options(cfg, args.cfg_options)
    cfg.launcher = args.launcher
    if args.work_dir is not None:
        cfg.work_dir = args.work_dir
    elif cfg.get("work_dir") is None:
        cfg.work_dir = str(Path("work_dirs") / Path(args.config).stem)
    _collate_as_mmpretrain(cfg)
    settle_workers(cfg)
    return cfg


def settle_workers(cfg: Config) -> None:
    """Keep the workers of data loaders alive between epochs unless a config says otherwise; without workers drop their settings.

    torch's DataLoader refuses ``persistent_workers=True`` with ``num_workers=0``. So the shipped configs leave it out, and run
    with any number of workers in every tool.
    """
    for name in DATALOADERS:
        loaders = cfg.get(name) or []
        for loader in loaders if isinstance(loaders, (list, tuple)) else [loaders]:
            if loader.get("num_workers"):
                loader.setdefault("persistent_workers", True)
            else:
                for setting in WORKER_SETTINGS & set(loader):
                    del loader[setting]


def require_writable(folder: Path, option: str) -> None:
    """Refuse an output folder that cannot be made or written to, before hours of work end there.

    Raises:
        UserError: It, or the nearest folder above it that exists, is a file or not to be written to.
    """
    nearest = next(place for place in (folder, *folder.resolve().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise UserError(
            f"{option} {folder}: {nearest} is not a folder that can be written to: name another", exit_code=2
        )


def read_config(path: str) -> Config:
    """Read a config file.

    Raises:
        UserError: It is missing or cannot be read, or has no ``model``.
    """
    path = resolve_config(path)
    if not Path(path).is_file():
        raise UserError(f"config {path} does not exist: check the path; `csan_mm configs` lists the shipped ones")
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


def merge_options(cfg: Config, options: list[str]) -> None:
    """Merge ``--cfg-options`` into a config.

    Raises:
        UserError: One is not of the form key=value, does not fit the config, or begins with what looks like a misspelt key.
    """
    if not options:
        return
    wrong = [option for option in options if "=" not in option]
    if wrong:
        raise UserError(f"--cfg-options {wrong[0]!r} is not of the form key=value", exit_code=2)
    parser = argparse.ArgumentParser()
    parser.add_argument("--cfg-options", nargs="+", action=DictAction)
    parsed: dict[str, Any] = parser.parse_args(["--cfg-options", *options]).cfg_options
    for key, value in (option.split("=", 1) for option in options):
        _refuse_misspelt(cfg, key.split(".")[0])
        if " " in value and not any(sign in value for sign in ",[](){}"):
            parsed[key] = value  # a path, say; DictAction takes the blanks out
    old_root = cfg.get("data_root")
    try:
        cfg.merge_from_dict(parsed)
        if old_root and parsed.get("data_root"):
            override_data_root(cfg, old_root, parsed["data_root"])
    except (KeyError, TypeError, AssertionError) as error:
        raise UserError(f"--cfg-options {' '.join(options)} do not fit the config: {error}", exit_code=2) from error


def _refuse_misspelt(cfg: Config, key: str) -> None:
    known = {*cfg.keys(), *signature(Runner.__init__).parameters}
    near = [] if key in known else get_close_matches(key, known, n=1, cutoff=0.75)
    if near:
        raise UserError(f"--cfg-options {key}: the config has no such key; did you mean {near[0]}?", exit_code=2)


def _collate_as_mmpretrain(cfg: Config) -> None:
    """mmpretrain's models take stacked batches; its tools make that the default of its data loaders, so do we."""
    if library_of(cfg) != "mmpretrain":
        return
    for name in DATALOADERS:
        if cfg.get(name):
            cfg[name].setdefault("collate_fn", {"type": "default_collate"})
