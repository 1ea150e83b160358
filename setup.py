"""Packaging, and what pyproject.toml cannot say: mim's extension folder goes into wheels, and only there.

``mim`` looks for configs, tools and model-index.yml under ``csan_mm/.mim``. Links in the source tree (OpenMMLab's usual way)
make every config name occur twice below the repository root, and mim then refuses them, so the folder is written while a
wheel is built. Building happens in a temporary folder: a build/ left behind would be found by mim too, and would bring files
that were deleted since into the next wheel.
"""

import shutil
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.install_lib import install_lib

ROOT = Path(__file__).resolve().parent
MIM_PARTS = ("configs", "tools", "model-index.yml")
#: What only the repository needs: the check of its documentation, which brings a stand-in for Slurm's srun, and its site.
REPOSITORY_ONLY = ("check_docs.py", "docs_check", "build_docs.py", "docs_site")
NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "ruff.toml", *REPOSITORY_ONLY)


class InstallLibWithMim(install_lib):
    """Adds ``csan_mm/.mim`` to the tree a wheel is made from; an editable install never runs this step."""

    def run(self) -> None:
        super().run()
        for part in MIM_PARTS:
            self._copy_part(ROOT / part, self._mim_dir() / part)

    def get_outputs(self) -> list[str]:
        mim = [str(path) for path in sorted(self._mim_dir().rglob("*")) if path.is_file()]
        return super().get_outputs() + mim

    def _mim_dir(self) -> Path:
        return Path(self.install_dir) / "csan_mm" / ".mim"

    @staticmethod
    def _copy_part(source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True, ignore=NOT_SHIPPED)
        else:
            shutil.copy2(source, target)


with tempfile.TemporaryDirectory(prefix="csan_mm-build-") as build_base:
    setup(cmdclass={"install_lib": InstallLibWithMim}, options={"build": {"build_base": build_base}})
