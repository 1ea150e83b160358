"""What was asked for, and what is to be written."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """The arguments of ``new_config``, checked.

    Args:
        data: The folder or file, absolute.
        out: The config to write.
        task: 'detection', 'instance' or 'semantic'.
        model: The backbone's name.
        detector: The detector's or segmentor's name.
        gpus: How many; None: as torch sees.
        classes: Only these; None: all.
        base: The shipped config that is inherited, below the folder of configs.
    """

    data: Path
    out: Path
    task: str
    model: str
    detector: str
    gpus: int | None
    classes: Sequence[str] | None
    base: Path

    def beside(self, ending: str) -> Path:
        """A file of the split, beside the config."""
        return self.out.with_name(self.out.stem + ending)

    def train_command(self, processes: int) -> str:
        """What trains the config; torchrun is torch's own launcher, one process for each GPU."""
        if processes == 1:
            return f"csan_mm train {self.out}"
        return f"torchrun --nproc-per-node {processes} -m csan_mm train {self.out} --launcher pytorch"


@dataclass(frozen=True)
class Plan:
    """What is to be written and said.

    Args:
        text: The config.
        lists: Path -> content of the split's files; empty where the data have a validation part.
        notes: Lines for the user.
        train_command: What trains it.
    """

    text: str
    lists: dict[Path, str]
    notes: list[str]
    train_command: str


def some(names: Sequence[str]) -> str:
    """Names for a message, the first six of many."""
    return ", ".join(names[:6]) + (f", ... ({len(names)})" if len(names) > 6 else "")
