"""Several processes: joining their group, also on machines without a GPU."""

import datetime
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from mmengine.config import Config
from mmengine.device import get_device
from mmengine.dist import init_dist
from mmengine.logging import print_log
from mmengine.utils.dl_utils import set_multi_processing

from csan_mm.common.errors import UserError

#: Where a launcher says rank, number of processes and rank on the node.
_RANKS = {
    "pytorch": ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    "slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    "mpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
}


@contextmanager
def process_group(cfg: Config) -> Iterator[None]:
    """Join the group of processes that ``cfg.launcher`` started, before the Runner does, and leave it at the end.

    On GPUs as mmengine does it. mmengine's launchers set a CUDA device whatever there is, so on a CPU this makes a gloo group
    and tells DistributedDataParallel that there are no device ids.

    Raises:
        UserError: The launcher's environment variables are missing.
    """
    if cfg.launcher == "none":
        yield
        return
    missing = [name for name in _RANKS[cfg.launcher] if name not in os.environ]
    if missing:
        raise UserError(
            f"--launcher {cfg.launcher} without {', '.join(missing)} in the environment: start it with "
            f"tools/dist_train.sh or tools/slurm_train.sh, or use --launcher none",
            exit_code=2,
        )
    env_cfg = cfg.get("env_cfg") or {}
    dist_cfg = dict(env_cfg.get("dist_cfg") or {})
    set_multi_processing(**env_cfg.get("mp_cfg", {}), distributed=True)
    if get_device() == "cpu":
        _join_on_cpu(cfg, dist_cfg.get("timeout"))
    else:
        init_dist(cfg.launcher, **dist_cfg)
    try:
        yield
    except BaseException:
        # NCCL would wait here for the other processes, which wait for this one; the launcher ends them when this one has.
        if torch.distributed.get_backend() == "gloo":
            torch.distributed.destroy_process_group()
        raise
    torch.distributed.destroy_process_group()


def _join_on_cpu(cfg: Config, timeout: float | None) -> None:
    for ours, theirs in zip(_RANKS["pytorch"], _RANKS[cfg.launcher]):
        os.environ[ours] = os.environ[theirs]
    options = {} if timeout is None else {"timeout": datetime.timedelta(seconds=timeout)}
    torch.distributed.init_process_group("gloo", **options)
    wrapper = {"type": "MMDistributedDataParallel", "broadcast_buffers": False}
    wrapper["find_unused_parameters"] = cfg.get("find_unused_parameters", False)
    if cfg.get("sync_bn"):
        if torch.distributed.get_rank() == 0:
            print_log(
                "SyncBN needs a GPU: on this CPU every process keeps batch norm's statistics of its own", "current"
            )
        cfg.sync_bn = None
    cfg.model_wrapper_cfg = {**wrapper, **(cfg.get("model_wrapper_cfg") or {}), "device_ids": None}
