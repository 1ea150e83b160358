"""A batch of two small images with ground truth, in the form each library's data loaders give it."""

from typing import Any

import numpy as np
import torch
from mmengine.structures import InstanceData, PixelData

SIDE = 96


def batch_for(cfg: Any) -> dict[str, list]:
    """Inputs and data samples for ``model.data_preprocessor``."""
    make = {"mmdet": _detection, "mmseg": _segmentation, "mmpretrain": _classification}[cfg.default_scope]
    if cfg.model.type == "RTMDet":  # would take masks for RTMDet-Ins's, which are tensors
        make = _without_masks
    images = [torch.randint(0, 256, (3, SIDE, SIDE), dtype=torch.uint8) for _ in range(2)]
    return {"inputs": images, "data_samples": [make() for _ in images]}


def _detection() -> Any:
    from mmdet.structures import DetDataSample
    from mmdet.structures.mask import BitmapMasks

    shape = (SIDE, SIDE)
    sample = DetDataSample(
        metainfo={"img_shape": shape, "ori_shape": shape, "pad_shape": shape, "scale_factor": (1.0, 1.0), "img_id": 0}
    )
    boxes = torch.tensor([[4.0, 4.0, 44.0, 44.0], [30.0, 20.0, 90.0, 90.0]])
    masks = np.zeros((2, SIDE, SIDE), dtype=np.uint8)
    for mask, (left, top, right, bottom) in zip(masks, boxes.int().tolist()):
        mask[top:bottom, left:right] = 1
    sample.gt_instances = InstanceData(bboxes=boxes, labels=torch.tensor([0, 1]), masks=BitmapMasks(masks, SIDE, SIDE))
    sample.ignored_instances = InstanceData(bboxes=torch.zeros(0, 4), labels=torch.zeros(0, dtype=torch.long))
    return sample


def _without_masks() -> Any:
    sample = _detection()
    del sample.gt_instances.masks
    return sample


def _segmentation() -> Any:
    from mmseg.structures import SegDataSample

    sample = SegDataSample(metainfo={"img_shape": (SIDE, SIDE), "ori_shape": (SIDE, SIDE)})
    sample.gt_sem_seg = PixelData(data=torch.randint(0, 10, (1, SIDE, SIDE)))
    return sample


def _classification() -> Any:
    from mmpretrain.structures import DataSample

    return DataSample().set_gt_label(1)
