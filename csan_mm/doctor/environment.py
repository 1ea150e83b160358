"""What is asked of the Python environment: versions from the packages' metadata, imports in a process of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from typing import Any

from csan_mm.doctor.steps import MARK, RUNNER, STEPS

TIMEOUT = 300


@dataclass(frozen=True)
class Probe:
    """How a step ended.

    Args:
        facts: What it found. Default: nothing.
        error: The last line of its traceback, or how its process died. Default: it ended well.
        trace: The whole traceback.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    trace: str = ""


class Environment:
    """The Python environment this process runs in."""

    @property
    def python_version(self) -> tuple[int, int]:
        """Major and minor version of Python."""
        return sys.version_info[:2]

    @property
    def variables(self) -> Mapping[str, str]:
        """The process's environment variables."""
        return os.environ

    @cached_property
    def probes(self) -> dict[str, Probe]:
        """How each of ``STEPS`` ended, in a process of their own."""
        return run_steps(STEPS)

    def version(self, distribution: str) -> str | None:
        """Version of an installed distribution, or None; nothing is imported."""
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            return None

    def installed_as(self, distribution: str) -> str | None:
        """'editable' for a link to a source tree, 'wheel' for a copy, None where it is not installed."""
        found = list(metadata.distributions(name=distribution))
        if any(json.loads(source).get("dir_info", {}).get("editable") for source in _texts(found, "direct_url.json")):
            return "editable"
        # A source tree's own .egg-info, which may lie on the path, has no RECORD.
        return "wheel" if _texts(found, "RECORD") else None


def _texts(distributions: list[metadata.Distribution], file: str) -> list[str]:
    return [text for text in (found.read_text(file) for found in distributions) if text]


def run_steps(steps: Mapping[str, str], python: str = sys.executable) -> dict[str, Probe]:
    """Run pieces of code one after another in one process; where one kills it, the rest in another.

    Args:
        steps: Name -> Python code, which may leave a dict ``facts``.
        python: The interpreter. Default: this one.

    Returns:
        How each ended.
    """
    probes: dict[str, Probe] = {}
    while len(probes) < len(steps):
        left = {name: code for name, code in steps.items() if name not in probes}
        died, lines = _run(left, python)
        probes |= {line["end"]: Probe(line["facts"], line["error"], line["trace"]) for line in lines if "end" in line}
        begun = next((name for name in left if name not in probes), None)
        if begun is not None:
            probes[begun] = Probe(error=died)
    return probes


def _run(steps: Mapping[str, str], python: str) -> tuple[str, list[dict[str, Any]]]:
    """How the process died, and what it reported before."""
    command = [python, "-c", f"MARK = {MARK!r}\n{RUNNER}"]
    try:
        done = subprocess.run(
            command, input=json.dumps(dict(steps)), capture_output=True, text=True, timeout=TIMEOUT, errors="replace"
        )
    except subprocess.TimeoutExpired as error:
        return f"no answer within {TIMEOUT} s", _reports(error.stdout or "")
    died = f"the process died of signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
    return died, _reports(done.stdout)


def _reports(output: str | bytes) -> list[dict[str, Any]]:
    """Our lines among those that packages print at import."""
    text = output.decode(errors="replace") if isinstance(output, bytes) else output
    return [json.loads(line.removeprefix(MARK)) for line in text.splitlines() if line.startswith(MARK)]
