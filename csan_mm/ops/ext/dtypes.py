"""In which floating-point type the stand-ins compute."""

import functools

import torch
from torch import Tensor


def computable(*tensors: Tensor) -> list[Tensor]:
    """Bring tensors to one type that torchvision's kernels have on every device: the widest among them, at least float32.

    Under autocast mmcv hands over float16 or bfloat16, for which some CPU kernels do not exist; torchvision's own autocast rules
    choose float32 too. Gradients are cut: the stand-ins run inside mmcv's autograd functions, which bring their own.
    """
    dtype = functools.reduce(torch.promote_types, (t.dtype for t in tensors), torch.float32)
    return [t.detach().to(dtype) for t in tensors]
