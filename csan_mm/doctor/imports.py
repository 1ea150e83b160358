"""What can be imported and used, with the cause and the cure where it cannot."""

import re
from collections.abc import Iterator

from csan_mm.common.findings import Finding, Severity
from csan_mm.doctor.distributions import install_missing
from csan_mm.doctor.environment import Environment, Probe
from csan_mm.doctor.versions import ONEDL, OPENMMLAB, PIP, TESTED, as_numbers

MISSING = r"No module named '([\w.]+)'"

#: What a failed import says -> its cause and cure; the first that fits. ``{0}`` is the pattern's group.
_CAUSES = (
    (
        r"(libGL\.so|libgthread|libglib)",
        "the system has no {0}, which the desktop build of OpenCV needs",
        f"{PIP} install --force-reinstall --no-deps opencv-python-headless",
    ),
    (
        r"(compiled using NumPy 1|numpy\.dtype size changed|_ARRAY_API not found|Numpy is not available)",
        "it was built for numpy 1 and numpy 2 is installed",
        f"{PIP} install 'numpy<2'",
    ),
    (r"No module named 'pkg_resources'", "setuptools has no pkg_resources any more", f"{PIP} install 'setuptools<81'"),
    (
        r"MMCV==\S+ (?:and MMEngine==\S+ )?is used but incompatible.*?(mmcv[><=~][^\"']*?\d)\.?\s*$",
        "mmcv is outside the versions it accepts ({0})",
        f"{PIP} install 'mmcv>=2.1,<2.2'",
    ),
    (r"undefined symbol", "it was compiled for another version of torch", ""),
    (r"No module named 'mmcv\._ext'", "mmcv has no compiled operators", ""),
    (MISSING, "the module {0} is missing", ""),
    (r"(lib\w+\.so[\w.]*): cannot open shared object", "the system library {0} is missing", ""),
)

#: How to get compiled operators, by the distribution that should have them.
_COMPILED = {
    "onedl-mmcv": f"{PIP} uninstall -y onedl-mmcv && mim install onedl-mmcv",
    "mmcv": f"{PIP} uninstall -y mmcv && mim install 'mmcv>=2.1,<2.2'",
    "mmcv-lite": f"{PIP} uninstall -y mmcv-lite && mim install 'mmcv>=2.1,<2.2'",
}


def check_torch(env: Environment) -> Iterator[Finding]:
    """torch, and the GPU it sees."""
    if not env.version("torch"):
        return
    probe = env.probes["torch"]
    if probe.error:
        cure = f"{PIP} install --force-reinstall 'torch=={env.version('torch')}'"
        yield failed(env, "import torch", probe, cure)
        return
    if probe.facts["cuda"]:
        yield Finding(Severity.OK, "CUDA", f"torch sees {', '.join(probe.facts['names'])}")
    elif probe.facts["built"] is None:
        cure = "choose a CUDA build of torch on pytorch.org if this machine has a GPU"
        yield Finding(Severity.NOTE, "CUDA", "torch is built for the CPU", cure)
    elif env.variables.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        cure = "unset CUDA_VISIBLE_DEVICES"
        yield Finding(Severity.NOTE, "CUDA", "hidden by the variable CUDA_VISIBLE_DEVICES", cure)
    else:
        says = f"torch is built for CUDA {probe.facts['built']} and sees no GPU: training runs on the CPU"
        yield Finding(
            Severity.NOTE, "CUDA", says, "with a GPU in this machine: nvidia-smi shows whether its driver is too old"
        )


def check_torchvision(env: Environment) -> Iterator[Finding]:
    """torchvision's compiled operators belong to one version of torch."""
    torch, torchvision = env.version("torch"), env.version("torchvision")
    if not (torch and torchvision):
        return
    probe = env.probes["torchvision"]
    if not probe.error:
        yield Finding(Severity.OK, "torchvision", "its operators run")
        return
    # torch 2.x and torchvision 0.(x + 15) belong together.
    fitting = f"0.{as_numbers(torch)[1] + 15}.*"
    cure = f"{PIP} install --force-reinstall --no-deps 'torchvision=={fitting}'"
    if "torchvision::nms" in probe.error or "undefined symbol" in probe.error:
        says = f"was built for another torch than {torch} ({probe.error})"
        yield Finding(Severity.FAULT, f"torchvision {torchvision}", says, cure)
    else:
        yield failed(env, "import torchvision", probe, cure)


def check_numpy(env: Environment) -> Iterator[Finding]:
    """numpy 1 against 2, between the packages that were compiled for one of them."""
    if not (env.version("numpy") and env.version("torch")):
        return
    partners = {"torch": env.probes["numpy"]}
    if env.version("pycocotools"):
        partners["pycocotools"] = env.probes["pycocotools"]
    for name, probe in partners.items():
        subject = f"numpy with {name}"
        if probe.error:
            yield failed(env, subject, probe)
        else:
            yield Finding(Severity.OK, subject, "work together")


def check_opencv(env: Environment) -> Iterator[Finding]:
    """``import cv2``, which the desktop build fails on without libGL."""
    builds = [name for name in ("opencv-python", "opencv-python-headless") if env.version(name)]
    probe = env.probes["cv2"]
    if probe.error and not builds:
        yield Finding(Severity.FAULT, "opencv-python", "is not installed", f"{PIP} install opencv-python-headless")
    elif probe.error:
        version = env.version("opencv-python-headless") or env.version("opencv-python")
        yield failed(env, "import cv2", probe, pinned=f"opencv-python-headless=={version}" if version else "")
    else:
        yield Finding(Severity.OK, "import cv2", f"works ({', '.join(builds) or 'not from pip'})")


def check_operators(env: Environment) -> Iterator[Finding]:
    """mmcv's compiled operators, or csan_mm in their place."""
    owner = next((name for name in _COMPILED if env.version(name)), None)
    if owner is None or not env.version("torch"):
        return
    probe = env.probes["mmcv._ext"]
    if probe.error:
        yield failed(env, "mmcv._ext", probe, _COMPILED[owner])
    elif probe.facts["compiled"]:
        yield Finding(Severity.OK, "mmcv._ext", "mmcv's compiled operators load")
    elif env.probes["stand-in"].error:
        yield failed(env, "import csan_mm, mmcv.ops", env.probes["stand-in"], _COMPILED[owner])
    else:
        says = "is not compiled: csan_mm serves the common operators from torchvision, the others raise NotImplementedError"
        yield Finding(Severity.NOTE, "mmcv._ext", says, _COMPILED[owner])


def check_families(env: Environment) -> Iterator[Finding]:
    """mmdet, mmseg and mmpretrain, which refuse an mmcv or a setuptools they do not like."""
    for module in ("mmdet", "mmseg", "mmpretrain"):
        if not (env.version(ONEDL[module]) or env.version(OPENMMLAB[module])):
            continue
        probe = env.probes[module]
        if probe.error:
            yield failed(env, f"import {module}", probe)
        else:
            yield Finding(Severity.OK, f"import {module}", "works")


def check_mim(env: Environment) -> Iterator[Finding]:
    """What ``mim`` can do with csan_mm as it is installed."""
    if not (env.version("onedl-mim") or env.version("openmim")):
        cure = f"{PIP} install onedl-mim=={TESTED['onedl-mim']}"
        yield Finding(Severity.NOTE, "mim", "is not installed; python -m csan_mm train does the same", cure)
    installed = env.installed_as("csan_mm")
    if installed is None:
        yield Finding(Severity.WARNING, "csan_mm", "is not installed, only found", f"{PIP} install -e . in its folder")
    elif installed == "editable":
        yield Finding(Severity.OK, "mim", "csan_mm is installed in editable form: mim train csan_mm CONFIG_PATH works")
    else:
        says = "cannot find csan_mm installed from a wheel: use python -m csan_mm train, or mim train onedl-mmdetection"
        yield Finding(Severity.NOTE, "mim", says)


def failed(env: Environment, subject: str, probe: Probe, cure: str = "", pinned: str = "") -> Finding:
    """A failed probe as a finding: the cause where it is well known, else the error itself.

    Args:
        env: The environment: what is installed decides what to install.
        subject: What was tried.
        probe: How it ended.
        cure: The command where the cause brings none. Default: none.
        pinned: Takes the place of the package's bare name in the cause's cure. Default: nothing does.
    """
    for pattern, says, known_cure in _CAUSES:
        found = re.search(pattern, probe.error) or re.search(pattern, probe.trace)
        if found:
            group = found.group(1) if found.groups() else ""
            command = known_cure or cure
            if pattern == MISSING:
                command = install_missing(group, env)
            elif pinned:
                command = command.replace(pinned.partition("==")[0], pinned)
            return Finding(Severity.FAULT, subject, f"fails: {says.format(group)} ({probe.error})", command)
    return Finding(Severity.FAULT, subject, f"fails: {probe.error}", cure)
