"""Installed versions against the tested ones, and the two lines of the OpenMMLab packages."""

import re
from collections.abc import Iterator

from csan_mm.common.findings import Finding, Severity
from csan_mm.common.install import PIP, install_command
from csan_mm.doctor.environment import Environment

#: What the tests ran with: the versions of requirements/constraints.txt.
TESTED = {
    "torch": "2.14.1",
    "torchvision": "0.29.1",
    "numpy": "2.2.6",
    "timm": "1.0.31",
    "safetensors": "0.8.0",
    "onedl-mmengine": "0.10.12",
    "onedl-mmcv": "2.3.6",
    "onedl-mmdetection": "3.5.1",
    "onedl-mmsegmentation": "1.4.2",
    "onedl-mmpretrain": "1.3.6",
    "onedl-mim": "0.5.1",
}
TESTED_PYTHON = (3, 11)

#: Oldest supported versions, as in pyproject.toml.
OLDEST = {"python": "3.10", "torch": "2.6", "torchvision": "0.21", "timm": "1.0.12", "safetensors": "0.4.3"}

#: Import name -> distribution, in the maintained line and in the original one.
ONEDL = {
    "mmengine": "onedl-mmengine",
    "mmcv": "onedl-mmcv",
    "mmdet": "onedl-mmdetection",
    "mmseg": "onedl-mmsegmentation",
    "mmpretrain": "onedl-mmpretrain",
}
OPENMMLAB = {
    "mmengine": "mmengine",
    "mmcv": "mmcv",
    "mmdet": "mmdet",
    "mmseg": "mmsegmentation",
    "mmpretrain": "mmpretrain",
}
#: Other distributions that own ``mmcv``: without operators, and of OpenMMLab 1.x.
OTHER_MMCV = ("mmcv-lite", "mmcv-full")


def check_python(env: Environment) -> Iterator[Finding]:
    """Python itself."""
    version = ".".join(map(str, env.python_version))
    if as_numbers(version) < as_numbers(OLDEST["python"]):
        cure = f"python{OLDEST['python']} -m venv .venv && .venv/bin/python -m pip install '.[onedl]' (in a clone of csan_mm)"
        yield Finding(Severity.FAULT, f"python {version}", f"is older than {OLDEST['python']}", cure)
    elif env.python_version == TESTED_PYTHON:
        yield Finding(Severity.OK, f"python {version}", "is the tested version")
    else:
        tested = ".".join(map(str, TESTED_PYTHON))
        yield Finding(Severity.NOTE, f"python {version}", f"is not the tested version ({tested})")


def check_packages(env: Environment) -> Iterator[Finding]:
    """What csan_mm requires, by version."""
    for name in ("torch", "torchvision", "numpy", "timm", "safetensors"):
        version = env.version(name)
        if version is None:
            wanted = f"'{name}>={OLDEST[name]}'" if name in OLDEST else name
            yield Finding(Severity.FAULT, name, "is not installed", f"{PIP} install {wanted}")
        elif as_numbers(version) < as_numbers(OLDEST.get(name, "0")):
            cure = f"{PIP} install '{name}>={OLDEST[name]}'"
            yield Finding(Severity.FAULT, f"{name} {version}", f"is older than {OLDEST[name]}", cure)
        else:
            yield compared(name, version)


def check_lines(env: Environment) -> Iterator[Finding]:
    """The OpenMMLab packages: one line of them, whole, and not both."""
    onedl = [name for name in ONEDL.values() if env.version(name)]
    openmmlab = [name for name in (*OPENMMLAB.values(), *OTHER_MMCV) if env.version(name)]
    if onedl and openmmlab:
        says = "are installed side by side and overwrite each other's files"
        repair = " ".join(f"{name}=={env.version(name)}" for name in onedl)
        cure = f"{PIP} uninstall -y {' '.join(openmmlab)} && {PIP} install --force-reinstall --no-deps {repair}"
        yield Finding(Severity.FAULT, f"{', '.join(openmmlab)} and {', '.join(onedl)}", says, cure)
        return
    if "mmcv-full" in openmmlab:
        cure = f"{PIP} uninstall -y mmcv-full && {install_command('openmmlab')}"
        yield Finding(Severity.FAULT, "mmcv-full", "is of OpenMMLab 1.x; csan_mm needs 2.x", cure)
        return
    line, extra = (OPENMMLAB, "openmmlab") if openmmlab else (ONEDL, "onedl")
    for module, name in line.items():
        yield from _check_member(env, module, name, extra)


def _check_member(env: Environment, module: str, name: str, extra: str) -> Iterator[Finding]:
    version = env.version(name)
    if version is None and module == "mmcv" and env.version("mmcv-lite"):
        version, name = env.version("mmcv-lite"), "mmcv-lite"
    if version is not None:
        yield compared(name, version)
        return
    needed = module in ("mmengine", "mmcv")
    uses = {"mmdet": "detection", "mmseg": "segmentation", "mmpretrain": "classification"}
    says = "is not installed" if needed else f"is not installed: no {uses[module]} configs"
    severity = Severity.FAULT if needed else Severity.WARNING
    yield Finding(severity, name, says, install_command(extra))


def compared(name: str, version: str) -> Finding:
    """An installed version against the tested one."""
    tested = TESTED.get(name)
    if tested is None:
        return Finding(
            Severity.NOTE, f"{name} {version}", "is supported; the tests of this release ran on the onedl line"
        )
    if as_numbers(version) == as_numbers(tested):
        return Finding(Severity.OK, f"{name} {version}", "is the tested version")
    return Finding(Severity.NOTE, f"{name} {version}", f"is not the tested version ({tested})")


def as_numbers(version: str) -> tuple[int, ...]:
    """``2.14.1+cu130`` -> (2, 14, 1); what stands behind the numbers does not count."""
    release = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in release.group().split(".")) if release else ()
