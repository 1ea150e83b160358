"""The console of a training or a test: what a person needs to read; the log file has everything."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from mmengine.logging import MMLogger

#: How the records begin that only the log file gets: settings in full, and notices of mmengine about itself.
FILE_ONLY = (
    "Config:\n",
    "\n" + "-" * 60 + "\nSystem environment:",
    "Hooks will be executed in the following order:",
    "paramwise_options -- ",
    "Distributed training is not used, all SyncBatchNorm",
    '"FileClient" will be deprecated',
    '"HardDiskBackend" is the alias',
    "Exp name: ",
    "Checkpoints will be saved to ",
    "bbox_mAP_copypaste: ",
    "segm_mAP_copypaste: ",
)


@contextmanager
def short_console(verbose: bool = False) -> Iterator[None]:
    """Keep the records of FILE_ONLY from the console, for every logger of mmengine, there already or yet to be made.

    Args:
        verbose: Leave all as mmengine has it. Default: False.
    """
    if verbose:
        yield
        return
    before = MMLogger.callHandlers
    MMLogger.callHandlers = _call_handlers
    try:
        yield
    finally:
        MMLogger.callHandlers = before


def _call_handlers(self: MMLogger, record: logging.LogRecord) -> None:
    file_only = str(record.msg).startswith(FILE_ONLY)
    for handler in self.handlers:
        if record.levelno >= handler.level and not (file_only and _is_console(handler)):
            handler.handle(record)


def _is_console(handler: logging.Handler) -> bool:
    return isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler)
