"""Does csan_mm compute right on this machine? ``csan_mm selftest``: every family, every precision, on each device there is."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from csan_mm.analysis import selfchecks
from csan_mm.version import __version__


@dataclass(frozen=True)
class Row:
    """One line of the report.

    Attributes:
        check: What was tried.
        device: Where.
        result: 'ok', 'FAILED' or 'not run'.
        detail: What was measured, or why.
        seconds: How long it took.
    """

    check: str
    device: str
    result: str
    detail: str
    seconds: float


def run(args: argparse.Namespace) -> int:
    """Try everything and print a table to paste into a report.

    Returns:
        The exit status: 0 all well, 2 where something failed.
    """
    torch.manual_seed(0)
    devices = ["cpu"]
    if torch.cuda.is_available() and not args.cpu:
        devices.append("cuda")
    rows = []
    for row in _rows(devices, args.cpu):
        rows.append(row)
        print(
            f"{row.result:<8} {row.device:<5} {row.check}: {row.detail} ({row.seconds:.1f} s)",
            file=sys.stderr,
            flush=True,
        )
    print(_table(rows, devices))
    return 2 if any(row.result == "FAILED" for row in rows) else 0


def _rows(devices: list[str], cpu_only: bool) -> Iterator[Row]:
    for device in devices:
        for name in selfchecks.NETWORKS:
            for precision in selfchecks.PRECISIONS:
                yield _tried(
                    f"{name}, forward and backward, {precision}",
                    device,
                    lambda name=name, precision=precision, device=device: selfchecks.network(name, device, precision),
                )
        yield _tried(
            "same gradients twice in deterministic mode", device, lambda device=device: selfchecks.deterministic(device)
        )
        yield _tried("torch.export", device, lambda device=device: selfchecks.exported(device))
        yield _tried("ONNX", device, lambda device=device: _onnx(device))
        yield _tried("two processes or GPUs", device, lambda device=device: selfchecks.processes(device))
    if "cuda" in devices:
        for name, check in selfchecks.OPERATORS.items():
            yield _tried(f"{name}, against the CPU", "cuda", check)
    else:
        why = "--cpu leaves it out" if cpu_only else "torch sees none"
        yield Row("everything on a GPU", "cuda", "not run", why, 0.0)


def _onnx(device: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return selfchecks.onnx(device, Path(folder, "backbone.onnx"))


def _tried(check: str, device: str, function: Callable[[], str]) -> Row:
    start = time.perf_counter()
    try:
        result, detail = "ok", function()
    except selfchecks.NotRunError as reason:
        result, detail = "not run", str(reason)
    except Exception as error:  # whatever a broken installation raises belongs into the report
        result, detail = "FAILED", f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return Row(check, device, result, detail, time.perf_counter() - start)


def _table(rows: list[Row], devices: list[str]) -> str:
    """In Markdown, the machine first."""
    gpus = (
        ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))
        if "cuda" in devices
        else "none"
    )
    counts = ", ".join(f"{sum(row.result == kind for row in rows)} {kind}" for kind in ("ok", "FAILED", "not run"))
    lines = [
        "",
        f"csan_mm {__version__}, torch {torch.__version__}, CPU {torch.backends.cpu.get_cpu_capability()}, GPU: {gpus}",
        "",
        "| check | device | result | detail |",
        "|---|---|---|---|",
        *(f"| {row.check} | {row.device} | {row.result} | {row.detail.replace('|', '/')} |" for row in rows),
        "",
        counts,
    ]
    return "\n".join(lines)
