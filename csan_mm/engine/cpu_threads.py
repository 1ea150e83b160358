"""How many threads a training on the CPU uses: all of them, or one where other processes want the same cores.

OpenMP's threads wait for each other by spinning. Where one of them has to share its core, all others burn theirs until it has
caught up, at the end of each of the thousands of parallel loops of an iteration, and a training becomes ten and more times
slower. With one thread nothing waits. Neither number is right everywhere, so it is measured.
"""

import os
import time
from collections import deque
from statistics import median
from typing import Any

import torch
from mmengine.device import get_device
from mmengine.dist import get_world_size
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch.nn.functional import gelu, layer_norm

from csan_mm.common.checks import check_int, check_number
from csan_mm.registry import HOOKS

#: What users set to choose threads themselves. OpenMPI's own variables (OMPI_...) are none of these, nor are KMP_INIT_AT_FORK and
#: KMP_DUPLICATE_LIB_OK, which packages set when they are imported.
USER_SETTINGS = (
    *("OMP_", "GOMP_", "MKL_NUM_THREADS", "MKL_DYNAMIC", "MKL_DOMAIN_NUM_THREADS"),
    *("KMP_AFFINITY", "KMP_BLOCKTIME", "KMP_HW_SUBSET", "KMP_LIBRARY", "KMP_TOPOLOGY_METHOD"),
)

#: The probe: passes of a small network, fewer where they take longer than this.
PASSES = 30
MAX_SECONDS = 1.0

#: Iterations whose median is the usual time, and slow ones in a row that ask for a new probe.
USUAL = 20
SLOW = 2


@HOOKS.register_module()
class CPUThreadsHook(Hook):
    """Measures one thread against all of them at the start of a training, and again when iterations become much slower.

    It does nothing on a GPU, in a training of several processes, where torch has one thread anyway, where the user has chosen
    (OMP_NUM_THREADS, GOMP_SPINCOUNT, OMP_WAIT_POLICY and the like, or torch.set_num_threads since the hook was made), and where
    the config has ``randomness.deterministic``: sums over other numbers of threads differ in their last digits. One line of the
    log says what was chosen. After the training torch has the threads it had.

    Args:
        slower: How many times slower than usual two iterations in a row have to be. Default: 3.
        min_interval: Iterations from one measurement to the next. Default: 20.

    Raises:
        ValueError: ``slower`` not above 1, ``min_interval`` below 1.

    Example:
        >>> custom_hooks = [dict(type='csan_mm.CPUThreadsHook')]
    """

    def __init__(self, slower: float = 3.0, min_interval: int = 20) -> None:
        self.slower = check_number("slower", slower, above=1)
        self.min_interval = check_int("min_interval", min_interval, 1)
        self.all_threads = torch.get_num_threads()
        self._active = False
        self._start = 0.0
        self._since = 0
        self._recent: deque[float] = deque(maxlen=USUAL)
        self._slow = 0

    def before_train(self, runner: Runner) -> None:
        """Measure, unless there is nothing to choose."""
        deterministic = (runner.cfg.get("randomness") or {}).get("deterministic", False)
        chosen = (
            any(name.startswith(USER_SETTINGS) for name in os.environ) or torch.get_num_threads() != self.all_threads
        )
        several = get_device() == "cpu" and get_world_size() == 1 and self.all_threads > 1
        self._active = several and not chosen and not deterministic
        if self._active:
            self._choose(runner, "")

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None) -> None:
        """Start the clock."""
        self._start = time.perf_counter()

    def after_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: Any = None) -> None:
        """Compare the iteration with the usual one."""
        if not self._active:
            return
        seconds = time.perf_counter() - self._start
        self._since += 1
        is_slow = len(self._recent) >= SLOW and seconds > self.slower * median(self._recent)
        self._slow = self._slow + 1 if is_slow else 0
        if not is_slow:
            self._recent.append(seconds)
        if self._slow >= SLOW and self._since >= self.min_interval:
            usual = median(self._recent)
            self._choose(runner, f"iteration {runner.iter + 1} took {seconds:.2f} s, the usual one {usual:.2f} s; ")

    def after_train(self, runner: Runner) -> None:
        """Give torch its threads back."""
        if self._active:
            torch.set_num_threads(self.all_threads)

    def _choose(self, runner: Runner, why: str) -> None:
        one, many = probe_seconds(1), probe_seconds(self.all_threads)
        threads = 1 if one < many else self.all_threads
        torch.set_num_threads(threads)
        self._recent.clear()
        self._slow = self._since = 0
        runner.logger.info(
            f"CPU threads: {why}a small network takes {1000 * one:.1f} ms with 1 thread and {1000 * many:.1f} ms with "
            f"{self.all_threads}, so {threads} of {self.all_threads} (OMP_NUM_THREADS=N chooses otherwise)"
        )


def probe_seconds(threads: int) -> float:
    """Seconds that a forward and backward pass of a small network takes with so many threads, on average.

    Products, norms and activations as in a transformer's block, each a parallel loop or more. The mean counts, not the least: on
    a busy core it is single loops that wait. The number of threads is as before afterwards, and no random number is drawn.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.enable_grad():
            x = torch.linspace(-1, 1, 1024 * 96).view(1024, 96)
            w1 = torch.linspace(-0.1, 0.1, 96 * 384).view(96, 384).requires_grad_()
            w2 = torch.linspace(-0.1, 0.1, 384 * 96).view(384, 96).requires_grad_()
            _pass(x, w1, w2)  # starts the threads
            start, passes = time.perf_counter(), 0
            while passes < PASSES and time.perf_counter() - start < MAX_SECONDS:
                _pass(x, w1, w2)
                passes += 1
        return (time.perf_counter() - start) / passes
    finally:
        torch.set_num_threads(before)


def _pass(x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor) -> None:
    y = x
    for _ in range(2):
        y = y + gelu(layer_norm(y, y.shape[-1:]) @ w1) @ w2
    torch.autograd.grad(y.square().mean(), [w1, w2])
