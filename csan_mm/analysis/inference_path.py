"""A model's own inference, run for its cost: with a fixed number of boxes, and stopped before what has data-dependent shapes.

How many proposals survive NMS depends on weights and image, and so does what the heads behind cost. Here every region proposal
network gives ``proposals`` boxes and every box head ``detections``; all networks in between and behind run as in a prediction.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

import torch
from mmengine.structures import InstanceData
from torch import Tensor, nn

#: A function of an image (1, C, H, W) that runs the whole inference.
Path = Callable[[Tensor], Any]


def inference_paths(model: nn.Module) -> list[Path]:
    """What may be a model's inference, the truest first.

    Args:
        model: A model of mmdet, mmseg or mmpretrain, or any network.
    """
    if not hasattr(model, "backbone"):
        return [model]
    if hasattr(model, "encode_decode"):  # mmseg; in slide mode, this is what one window costs
        return [lambda image: model.encode_decode(image, [_metainfo(image)])]
    paths: list[Path] = [lambda image: model(image, mode="tensor")]
    if hasattr(model, "bbox_head") or hasattr(model, "roi_head") or hasattr(model, "panoptic_head"):
        return [lambda image: model.predict(image, [_sample(image)], rescale=False)]
    return [lambda image: model.predict(image), lambda image: model.predict(image, [_sample(image)]), *paths]


@contextmanager
def fixed_boxes(model: nn.Module, proposals: int, detections: int) -> Iterator[None]:
    """Within the block, heads return this many boxes, and RoI extractors their output's shape."""
    with ExitStack() as stack:
        for name, module in model.named_modules():
            leaf = name.split(".")
            if hasattr(module, "roi_layers"):
                stack.enter_context(replaced(module, "forward", _regions(module)))
            elif "panoptic_fusion_head" in leaf:
                stack.enter_context(replaced(module, "predict", lambda *_, **__: [{}]))
            elif hasattr(module, "predict_by_feat") and "mask_iou_head" not in leaf:
                stays = leaf[0] == "roi_head" and "bbox_head" not in leaf
                number = proposals if leaf[0] == "rpn_head" else detections
                stack.enter_context(replaced(module, "predict_by_feat", _given if stays else _found(module, number)))
        yield


@contextmanager
def replaced(module: nn.Module | ModuleType, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Within the block, this one module (of a network, or of Python) has another function under a name."""
    own = vars(module).get(name)
    vars(module)[name] = function
    try:
        yield
    finally:
        if own is None:
            del vars(module)[name]
        else:
            vars(module)[name] = own


def _metainfo(image: Tensor) -> dict[str, Any]:
    size = tuple(image.shape[2:])
    return {
        "ori_shape": size,
        "img_shape": size,
        "pad_shape": size,
        "batch_input_shape": size,
        "scale_factor": (1.0, 1.0),
        "padding_size": [0, 0, 0, 0],
        "img_path": "",
    }


def _sample(image: Tensor) -> Any:
    from mmdet.structures import DetDataSample

    return DetDataSample(metainfo=_metainfo(image))


def _regions(extractor: nn.Module) -> Callable[..., Tensor]:
    """(number of boxes, channels, side, side), whatever the boxes are."""
    side = extractor.roi_layers[0].output_size
    size = (side, side) if isinstance(side, int) else tuple(side)

    def forward(features: tuple[Tensor, ...], rois: Tensor, *_: Any, **__: Any) -> Tensor:
        return features[0].new_zeros(rois.shape[0], extractor.out_channels, *size)

    return forward


def _found(head: nn.Module, number: int) -> Callable[..., list[InstanceData]]:
    """That many boxes of the first class."""

    def predict_by_feat(*_: Any, **__: Any) -> list[InstanceData]:
        device = next(head.parameters()).device
        boxes = torch.tensor([0.0, 0.0, 32.0, 32.0], device=device).repeat(number, 1)
        scores, labels = torch.ones(number, device=device), torch.zeros(number, dtype=torch.long, device=device)
        return [InstanceData(bboxes=boxes, scores=scores, labels=labels)]

    return predict_by_feat


def _given(*args: Any, **options: Any) -> Any:
    """The results a mask head was given; pasting masks into the image counts nothing."""
    return options["results_list"] if "results_list" in options else args[1]
