"""From the module that an import misses to the command that brings it."""

from csan_mm.common.install import PIP
from csan_mm.doctor.environment import Environment
from csan_mm.doctor.versions import ONEDL, OPENMMLAB, OTHER_MMCV

#: Modules that OpenMMLab's packages import and whose distribution pip does not find under the module's name.
OTHER_NAMES = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "d_cube": "ddd-dataset",
    "dateutil": "python-dateutil",
    "google": "protobuf",
    "model_archiver": "torch-model-archiver",
    "modelindex": "model-index",
    "osgeo": "gdal",
    "panopticapi": "git+https://github.com/cocodataset/panopticapi.git",
    "pytorch_grad_cam": "grad-cam",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "ts": "torchserve",
    "turbojpeg": "PyTurboJPEG",
    "yaml": "pyyaml",
}


def distribution_of(module: str, env: Environment) -> str:
    """The name under which pip finds what brings a module.

    Args:
        module: A module or one of its submodules: ``mmdet`` or ``mmdet.models``.
        env: The environment: each line of the OpenMMLab packages has its own distribution of mmdet.
    """
    top = module.partition(".")[0]
    if top == "mmcv" and env.version("mmcv-lite"):
        return "mmcv-lite"
    line = OPENMMLAB if any(env.version(name) for name in (*OPENMMLAB.values(), *OTHER_MMCV)) else ONEDL
    return line.get(top) or OTHER_NAMES.get(top, top)


def install_missing(module: str, env: Environment) -> str:
    """The command that brings a missing module; a part of an installed distribution comes back by installing that again.

    Args:
        module: What ``No module named`` names.
        env: The environment.
    """
    name = distribution_of(module, env)
    version = env.version(name)
    if version is None:
        return f"{PIP} install {name}"
    return f"{PIP} install --force-reinstall --no-deps {name}=={version}"
