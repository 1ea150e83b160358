"""Time and memory of backbones over image sizes, side by side, as a table and a picture.

On a GPU both are measured in this process, memory as PyTorch's allocator counts it. On a CPU the memory of each point is that of
a process of its own: how far its resident memory rises above what it had with the network and the image in place.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from mmengine.registry import MODELS
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.benchmark import Timer

from csan_mm.analysis.pictures import save_figure

SIZES = (224, 448, 672, 896, 1120, 1248)

#: Every larger block comes from the system and goes back to it, so that resident memory is what is in use.
RETURNING_MALLOC = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_TOP_PAD_": "0"}

MIB = 2**20


@dataclass(frozen=True)
class Task:
    """One point: a backbone at one image size.

    Attributes:
        cfg: The backbone's config.
        size: Side of the square images.
        batch_size: Number of images.
        train: Forward and backward pass; else the forward pass without a graph.
        device: 'cpu' or 'cuda'.
        amp: Mixed precision in bfloat16.
        explicit: Attention with its N x N array of weights, as it was before fused kernels and as papers measure it.
    """

    cfg: dict[str, Any]
    size: int
    batch_size: int = 1
    train: bool = False
    device: str = "cpu"
    amp: bool = False
    explicit: bool = False


@dataclass(frozen=True)
class Point:
    """What was measured: seconds per image, bytes per image; ``None`` where memory ran out."""

    name: str
    size: int
    seconds: float | None
    bytes: int | None


def rivals(arch: str, **options: Any) -> dict[str, Callable[[int], Task]]:
    """WeightFormer and DeiT of the same width, both with mean pooling; DeiT with fused and with explicit attention.

    Args:
        arch: 'tiny' or 'small'.
        **options: What else a :class:`Task` has.

    Returns:
        Name -> size -> task. The first one is what the others are compared with.
    """
    short, mean = arch[0].upper(), {"arch": arch, "out_type": "avg_featmap"}
    plain = {"type": "csan_mm.ViTCSaN", "mixer": "softmax", "with_cls_token": False, **mean}
    return {
        f"WeightFormer-{short}": lambda size: Task({"type": "csan_mm.WeightFormer", **mean}, size, **options),
        f"DeiT-{short}": lambda size: Task({**plain, "img_size": size}, size, **options),
        f"DeiT-{short}, explicit": lambda size: Task({**plain, "img_size": size}, size, explicit=True, **options),
    }


def compare(
    backbones: dict[str, Callable[[int], Task]],
    sizes: Sequence[int],
    min_run_time: float = 1.0,
    processor_time: bool = False,
) -> Iterator[Point]:
    """Measure all backbones at all sizes.

    Args:
        backbones: Name -> size -> task.
        sizes: Sides of the images.
        min_run_time: Seconds over which steps are repeated; the fastest counts. Default: 1.
        processor_time: See :func:`measure_time`. Default: False.
    """
    for size in sizes:
        for name, make in backbones.items():
            task = make(size)
            try:
                seconds, peak = measure_time(task, min_run_time, processor_time), measure_memory(task)
            except (torch.cuda.OutOfMemoryError, MemoryError):
                seconds = peak = None
            yield Point(name, size, seconds, peak)


def measure_time(task: Task, min_run_time: float, processor_time: bool = False) -> float:
    """Least seconds per image: what is above it comes from other processes of the machine.

    Args:
        task: What to measure.
        min_run_time: Seconds over which steps are repeated.
        processor_time: Count what the processor spent on a single thread of this process, not the clock's time: for a
            CPU that others use too. Default: False.
    """
    threads = 1 if processor_time else torch.get_num_threads()
    clock = {"timer": time.process_time} if processor_time else {}
    timer = Timer("step()", globals={"step": prepare(task)}, num_threads=threads, **clock)
    return min(timer.blocked_autorange(min_run_time=min_run_time).times) / task.batch_size


def measure_memory(task: Task) -> int:
    """Bytes per image at the height of a step, network and images not counted.

    Raises:
        MemoryError: On a CPU, the system killed the process.
        RuntimeError: On a CPU, the process ended without a figure; the message has the last line it wrote.
    """
    if task.device == "cpu":
        command = [sys.executable, "-m", "csan_mm.analysis.input_sizes", json.dumps(vars(task))]
        done = subprocess.run(command, env={**os.environ, **RETURNING_MALLOC}, capture_output=True, text=True)
        if done.returncode == -signal.SIGKILL:
            raise MemoryError(f"{task.cfg['type']} at {task.size} was killed")
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise RuntimeError(f"measuring {task.cfg['type']} at {task.size} failed: {last}")
        return int(done.stdout.split()[-1]) // task.batch_size
    step = prepare(task)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    return (torch.cuda.max_memory_allocated() - before) // task.batch_size


def prepare(task: Task) -> Callable[[], None]:
    """Build network and images; what comes back runs one step."""
    model: nn.Module = MODELS.build(dict(task.cfg)).to(task.device).train(task.train)
    image = torch.randn(task.batch_size, 3, task.size, task.size, device=task.device)

    def step() -> None:
        with (
            torch.autocast(task.device, torch.bfloat16, enabled=task.amp),
            torch.set_grad_enabled(task.train),
            explicit_attention() if task.explicit else nullcontext(),
        ):
            (output,) = model(image)
        if task.train:
            output.float().square().mean().backward()
            model.zero_grad(set_to_none=True)

    return step


def explicit_attention() -> AbstractContextManager:
    """Keeps scaled_dot_product_attention from its fused kernels."""
    return sdpa_kernel(SDPBackend.MATH)


def format_points(points: Sequence[Point]) -> str:
    """A table with a line per point: images per second, memory per image, and how the first backbone compares at that size."""
    rows = [
        "| size | backbone | images/s | MiB/image | speed of the first | memory of the first |",
        "|---|---|---|---|---|---|",
    ]
    first: dict[int, Point] = {}
    for point in points:
        best = first.setdefault(point.size, point)
        if point.seconds is None:
            cells = ["out of memory", "", "", ""]
        else:
            cells = [f"{1 / point.seconds:.2f}", f"{point.bytes / MIB:.1f}"]
            known = point is not best and best.seconds is not None
            cells += [f"{point.seconds / best.seconds:.1f}x", f"{best.bytes / point.bytes:.0%}"] if known else ["", ""]
        rows.append(f"| {point.size} | {point.name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def draw(points: Sequence[Point], path: Path, title: str) -> None:
    """Write a picture: images per second and memory per image over the side of the images."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, 2)
    for name in dict.fromkeys(point.name for point in points):
        known = [point for point in points if point.name == name and point.seconds is not None]
        sides = [point.size for point in known]
        panels[0].plot(sides, [1 / point.seconds for point in known], marker="o", label=name)
        panels[1].plot(sides, [point.bytes / MIB for point in known], marker="o", label=name)
    for panel, label in zip(panels, ("images per second", "peak memory per image, MiB")):
        panel.set(
            xlabel="side of the image, pixels", ylabel=label, yscale="log", xticks=sorted({p.size for p in points})
        )
        panel.grid(alpha=0.3)
        panel.legend()
    figure.suptitle(title)
    save_figure(figure, path)


def _rise_of_resident_memory(task: Task) -> int:
    """Bytes by which this process's resident memory rises during the second of two steps."""
    step = prepare(task)
    step()  # what is allocated once: thread pools, packed weights
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the high-water mark starts anew
    before = _status("VmRSS")
    step()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


if __name__ == "__main__":
    import csan_mm  # noqa: F401 (registers the backbones)

    print(_rise_of_resident_memory(Task(**json.loads(sys.argv[1]))))
