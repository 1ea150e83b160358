"""What mmcv reports about its compiled operators (mmcv's and mmdet's ``collect_env`` print it)."""

import torchvision


def get_compiler_version() -> str:
    """Name who computes instead of a compiler."""
    return f"none: csan_mm's stand-in on torchvision {torchvision.__version__}"


def get_compiling_cuda_version() -> str:
    """No CUDA was compiled against."""
    return "not available"
