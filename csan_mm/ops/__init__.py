"""Memory-linear kernels, and torchvision stand-ins for mmcv's compiled operators."""
