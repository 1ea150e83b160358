"""The report of ``python -m csan_mm doctor``."""

import argparse
import sys
from collections.abc import Callable, Iterator

from csan_mm.common.findings import Finding, as_json, as_text, exit_code, summary
from csan_mm.doctor.environment import Environment
from csan_mm.doctor.imports import (
    check_families,
    check_mim,
    check_numpy,
    check_opencv,
    check_operators,
    check_torch,
    check_torchvision,
)
from csan_mm.doctor.versions import check_lines, check_packages, check_python

CHECKS: tuple[Callable[[Environment], Iterator[Finding]], ...] = (
    check_python,
    check_packages,
    check_lines,
    check_torch,
    check_torchvision,
    check_numpy,
    check_opencv,
    check_operators,
    check_families,
    check_mim,
)


def examine(env: Environment) -> list[Finding]:
    """Make every check.

    Args:
        env: The environment to look at.
    """
    return [finding for check in CHECKS for finding in check(env)]


def run(args: argparse.Namespace) -> int:
    """Print the report.

    Args:
        args: ``json``.

    Returns:
        The exit status: 0 all well (notes at most), 1 warnings, 2 faults.
    """
    findings = examine(Environment())
    if args.json:
        sys.stdout.write(as_json(findings) + "\n")
    else:
        sys.stdout.write(f"{as_text(findings, examples=20)}\n{summary(findings)}\n")
    return exit_code(findings)
