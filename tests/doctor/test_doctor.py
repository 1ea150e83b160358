"""Every fault the doctor knows, in a made-up environment; and the real one, also where nothing is installed."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from csan_mm.common.findings import Finding, Severity, exit_code
from csan_mm.common.install import install_command
from csan_mm.doctor.command import examine
from csan_mm.doctor.distributions import install_missing
from csan_mm.doctor.environment import Environment, Probe, run_steps
from csan_mm.doctor.steps import STEPS
from csan_mm.doctor.versions import ONEDL, TESTED, as_numbers

HEALTHY = {
    **TESTED,
    "opencv-python": "4.12.0",
    "opencv-python-headless": "4.12.0",
    "pycocotools": "2.0",
    "csan_mm": "0.1.0",
}
GPU = Probe({"built": "13.0", "cuda": True, "names": ["H"]})


class Patient(Environment):
    """An environment with these versions, in which these steps fail."""

    def __init__(
        self,
        versions: Mapping[str, str | None] | None = None,
        errors: Mapping[str, str] | None = None,
        python: tuple[int, int] = (3, 11),
        torch: Probe = GPU,
        compiled: bool = True,
        installed_as: str | None = "editable",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.versions = {**HEALTHY, **(versions or {})}
        self.python = python
        self.installation = installed_as
        self.environ = variables or {}
        failed = {name: Probe(error=error, trace=error) for name, error in (errors or {}).items()}
        healthy = {name: Probe() for name in STEPS} | {"torch": torch, "mmcv._ext": Probe({"compiled": compiled})}
        self.answers = {**healthy, **failed}

    python_version = property(lambda self: self.python)
    variables = property(lambda self: self.environ)
    probes = property(lambda self: self.answers)

    def version(self, distribution: str) -> str | None:
        return self.versions.get(distribution)

    def installed_as(self, distribution: str) -> str | None:
        return self.installation


def bad(patient: Patient, least: Severity = Severity.WARNING) -> list[Finding]:
    return [finding for finding in examine(patient) if finding.severity >= least]


def test_a_healthy_environment_has_no_findings():
    findings = examine(Patient())
    assert {finding.severity for finding in findings} == {Severity.OK}
    assert exit_code(findings) == 0


@pytest.mark.parametrize(
    ("patient", "subject", "says", "cure"),
    [
        (Patient(python=(3, 9)), "python 3.9", "older than 3.10", "python3.10 -m venv"),
        (Patient({"torch": None, "torchvision": None}), "torch", "is not installed", "pip install 'torch>=2.6'"),
        (Patient({"torch": "2.5.1"}), "torch 2.5.1", "older than 2.6", "pip install 'torch>=2.6'"),
        (Patient({"onedl-mmcv": None}), "onedl-mmcv", "is not installed", install_command("onedl")),
        (
            Patient({"mmcv": "2.1.0", "mmdet": "3.3.0"}),
            "mmcv, mmdet and onedl-mmengine, onedl-mmcv",
            "side by side and overwrite each other",
            "pip uninstall -y mmcv mmdet && python -m pip install --force-reinstall --no-deps onedl-mmengine==0.10.12 onedl-mmcv",
        ),
        (
            Patient({name: None for name in TESTED if name.startswith("onedl")} | {"mmcv-full": "1.7.0"}),
            "mmcv-full",
            "OpenMMLab 1.x",
            "pip uninstall -y mmcv-full",
        ),
        (
            Patient(errors={"torch": "OSError: libcublas.so.12: cannot open shared object file: No such file"}),
            "import torch",
            "the system library libcublas.so.12 is missing",
            "pip install --force-reinstall 'torch==2.14.1'",
        ),
        (
            Patient({"torch": "2.4.0"}, {"torchvision": "RuntimeError: operator torchvision::nms does not exist"}),
            "torchvision 0.29.1",
            "was built for another torch than 2.4.0",
            "'torchvision==0.19.*'",
        ),
        (
            Patient(errors={"numpy": "RuntimeError: Numpy is not available"}),
            "numpy with torch",
            "built for numpy 1 and numpy 2 is installed",
            "pip install 'numpy<2'",
        ),
        (
            Patient(
                errors={"pycocotools": "ValueError: numpy.dtype size changed, may indicate binary incompatibility"}
            ),
            "numpy with pycocotools",
            "built for numpy 1",
            "pip install 'numpy<2'",
        ),
        (
            Patient(
                errors={"cv2": "ImportError: libGL.so.1: cannot open shared object file: No such file or directory"}
            ),
            "import cv2",
            "the system has no libGL.so",
            "--force-reinstall --no-deps opencv-python-headless==4.12.0",
        ),
        (
            Patient(
                {"opencv-python": None, "opencv-python-headless": None},
                {"cv2": "ModuleNotFoundError: No module named 'cv2'"},
            ),
            "opencv-python",
            "is not installed",
            "pip install opencv-python-headless",
        ),
        (
            Patient(errors={"mmcv._ext": "ImportError: _ext.so: undefined symbol: _ZN2at"}),
            "mmcv._ext",
            "compiled for another version of torch",
            "mim install onedl-mmcv",
        ),
        (
            Patient(compiled=False, errors={"stand-in": "ModuleNotFoundError: No module named 'mmcv._ext'"}),
            "import csan_mm, mmcv.ops",
            "mmcv has no compiled operators",
            "mim install onedl-mmcv",
        ),
        (
            Patient(
                errors={
                    "mmdet": "AssertionError: MMCV==2.2.0 is used but incompatible. Please install mmcv>=2.0.0rc4, <2.2.0."
                }
            ),
            "import mmdet",
            "mmcv is outside the versions it accepts (mmcv>=2.0.0rc4, <2.2.0)",
            "pip install 'mmcv>=2.1,<2.2'",
        ),
        (
            Patient(errors={"mmseg": "ModuleNotFoundError: No module named 'pkg_resources'"}),
            "import mmseg",
            "no pkg_resources any more",
            "pip install 'setuptools<81'",
        ),
        (
            Patient(errors={"mmseg": "ModuleNotFoundError: No module named 'ftfy'"}),
            "import mmseg",
            "the module ftfy is missing",
            "python -m pip install ftfy",
        ),
        (
            Patient(
                {"opencv-python-headless": None},
                {"cv2": "ModuleNotFoundError: No module named 'cv2'"},
            ),
            "import cv2",
            "the module cv2 is missing",
            "python -m pip install opencv-python-headless",
        ),
        (
            Patient(errors={"cv2": "ModuleNotFoundError: No module named 'cv2'"}),
            "import cv2",
            "the module cv2 is missing",
            "pip install --force-reinstall --no-deps opencv-python-headless==4.12.0",
        ),
        (Patient(errors={"mmpretrain": "the process died of signal 11"}), "import mmpretrain", "died of signal 11", ""),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_fault_has_its_cause_and_one_command(patient, subject, says, cure):
    findings = [finding for finding in bad(patient, Severity.FAULT) if finding.subject.startswith(subject)]
    assert findings, bad(patient)
    assert says in findings[0].says
    assert cure in findings[0].cure
    assert "\n" not in findings[0].cure
    assert exit_code(examine(patient)) == 2


@pytest.mark.parametrize(
    ("patient", "subject", "says", "severity"),
    [
        (Patient({"torch": "2.6.0"}), "torch 2.6.0", "is not the tested version (2.14.1)", Severity.NOTE),
        (Patient({"onedl-mmsegmentation": None}), "onedl-mmsegmentation", "no segmentation configs", Severity.WARNING),
        (Patient({"onedl-mim": None}), "mim", "is not installed", Severity.NOTE),
        (Patient(installed_as="wheel"), "mim", "cannot find csan_mm installed from a wheel", Severity.NOTE),
        (Patient(installed_as=None), "csan_mm", "is not installed, only found", Severity.WARNING),
        (Patient(compiled=False), "mmcv._ext", "serves the common operators from torchvision", Severity.NOTE),
        (Patient(torch=Probe({"built": None, "cuda": False})), "CUDA", "built for the CPU", Severity.NOTE),
        (Patient(torch=Probe({"built": "13.0", "cuda": False})), "CUDA", "sees no GPU", Severity.NOTE),
        (
            Patient(torch=Probe({"built": "13.0", "cuda": False}), variables={"CUDA_VISIBLE_DEVICES": ""}),
            "CUDA",
            "hidden by the variable",
            Severity.NOTE,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
def test_lesser_findings(patient, subject, says, severity):
    (finding,) = [finding for finding in examine(patient) if finding.severity > Severity.OK]
    assert (finding.subject, finding.severity) == (subject, severity)
    assert says in finding.says


#: An environment of OpenMMLab's original packages, without mmdet.
ORIGINAL = dict.fromkeys(ONEDL.values()) | {"mmengine": "0.10.7", "mmcv-lite": "2.1.0", "mmpretrain": "1.2.0"}


@pytest.mark.parametrize(
    ("versions", "module", "command"),
    [
        ({"onedl-mmdetection": None}, "mmdet", "install onedl-mmdetection"),
        ({"onedl-mmdetection": None}, "mmdet.models.layers", "install onedl-mmdetection"),
        ({}, "mmdet.models", f"install --force-reinstall --no-deps onedl-mmdetection=={TESTED['onedl-mmdetection']}"),
        (ORIGINAL, "mmdet", "install mmdet"),
        (ORIGINAL, "mmseg.registry", "install mmsegmentation"),
        (ORIGINAL, "mmcv.cnn", "install --force-reinstall --no-deps mmcv-lite==2.1.0"),
        ({}, "PIL", "install pillow"),
        ({}, "sklearn.metrics", "install scikit-learn"),
        ({}, "modelindex", "install model-index"),
        ({}, "ftfy.formatting", "install ftfy"),
    ],
)
def test_a_missing_module_is_installed_by_the_name_of_its_distribution(versions, module, command):
    assert install_missing(module, Patient(versions)) == f"python -m pip {command}"


def test_the_original_line_is_examined_as_a_whole():
    original = {"mmengine": "0.10.7", "mmcv": "2.1.0", "mmdet": "3.3.0", "mmsegmentation": "1.2.2"}
    patient = Patient({name: None for name in TESTED if name.startswith("onedl")} | original)
    findings = [finding for finding in bad(patient) if finding.severity is Severity.WARNING]
    assert [finding.subject for finding in findings] == ["mmpretrain"]
    assert findings[0].cure == install_command("openmmlab")


def test_steps_that_fail_or_kill_the_process_do_not_stop_the_others():
    probes = run_steps(
        {
            "fine": "print('{\"noise\": 1}')\nfacts = {'x': 1}",
            "raises": "import no_such_module_here",
            "dies": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            "leaves": "import sys; sys.exit(3)",
            "after": "facts = {'y': 2}",
        }
    )
    assert probes["fine"].facts == {"x": 1}
    assert probes["raises"].error == "ModuleNotFoundError: No module named 'no_such_module_here'"
    assert "Traceback" in probes["raises"].trace
    assert probes["dies"].error == "the process died of signal 9"
    assert probes["leaves"].error == "SystemExit: 3"
    assert probes["after"].facts == {"y": 2}


@pytest.mark.parametrize(("version", "numbers"), [("2.14.1+cu130", (2, 14, 1)), ("0.10.8rc1", (0, 10, 8)), ("x", ())])
def test_version_numbers(version, numbers):
    assert as_numbers(version) == numbers


def run_doctor(python: str | Path, folder: Path) -> tuple[int, dict[str, dict], str]:
    done = subprocess.run([python, "-m", "csan_mm", "doctor", "--json"], cwd=folder, capture_output=True, text=True)
    rows = json.loads(done.stdout)["findings"]
    return done.returncode, {row["subject"]: row for row in rows}, done.stderr


def test_doctor_answers_where_nothing_is_installed(repo_root, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    code, rows, errors = run_doctor(tmp_path / "env" / "bin" / "python", repo_root)
    assert (code, errors) == (2, "")
    for name in ("torch", "torchvision", "onedl-mmengine", "onedl-mmcv"):
        assert rows[name]["severity"] == "fault"
        assert rows[name]["cure"].startswith("python -m pip install ")


def test_doctor_finds_the_test_environment_usable(tmp_path):
    code, rows, _ = run_doctor(sys.executable, tmp_path)
    assert code < 2, rows
    assert rows["torchvision"]["says"] == "its operators run"


def test_import_without_mmengine_says_what_to_install(repo_root, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    done = subprocess.run([python, "-c", "import csan_mm"], cwd=repo_root, capture_output=True, text=True)
    assert "ImportError: csan_mm needs the OpenMMLab packages" in done.stderr
    # The packages by name where csan_mm's metadata list them (an egg-info in this folder does), else the extra of the clone.
    assert "pip install '.[onedl]' (in the folder" in done.stderr or "onedl-mmengine" in done.stderr
