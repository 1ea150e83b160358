"""mmdet's detectors, from its own base configs made tiny, train and predict on the stand-in."""

from pathlib import Path

import mmdet.models
import pytest
import torch
from mmdet.registry import MODELS
from mmdet.testing import demo_mm_inputs
from mmengine.config import Config, ConfigDict

DETECTORS = ("retinanet_r50_fpn", "mask-rcnn_r50_fpn", "cascade-mask-rcnn_r50_fpn")
WIDTHS = {256: 16, 1024: 32}  # of necks and heads


def shrink(node):
    """The same config with narrow necks and heads."""
    if isinstance(node, dict):
        return {
            key: WIDTHS.get(value, value) if key.endswith("channels") and isinstance(value, int) else shrink(value)
            for key, value in node.items()
        }
    return [shrink(value) for value in node] if isinstance(node, list) else node


@pytest.fixture(params=DETECTORS)
def detector(request):
    path = Path(mmdet.__file__).parent / ".mim" / "configs" / "_base_" / "models" / f"{request.param}.py"
    if not path.exists():
        pytest.skip("mmdet is installed without its configs")
    config = ConfigDict(shrink(Config.fromfile(path).to_dict()["model"]))
    config.backbone.update(depth=18, base_channels=4, init_cfg=None, norm_eval=False)
    config.neck.in_channels = [4, 8, 16, 32]
    config.test_cfg.get("rcnn", config.test_cfg).score_thr = 0.0
    return MODELS.build({"_scope_": "mmdet", **config})


@pytest.mark.parametrize("amp", [False, True], ids=["float32", "bfloat16"])
def test_trains_and_predicts(detector, amp):
    packed = demo_mm_inputs(2, [(3, 64, 96), (3, 90, 64)], num_items=[3, 0], num_classes=5, with_mask=True)
    data = detector.data_preprocessor(packed, training=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=amp):
        loss, values = detector.parse_losses(detector(**data, mode="loss"))
    loss.backward()
    assert values["loss"].isfinite()
    trained = [p for p in detector.parameters() if p.requires_grad]
    assert all(p.grad is not None and p.grad.isfinite().all() for p in trained)
    assert sum(p.grad.any().item() for p in trained) > 0.9 * len(trained)

    detector.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=amp):
        results = detector(**detector.data_preprocessor(packed, training=False), mode="predict")
    for result in results:
        found = result.pred_instances
        assert len(found) == 100
        assert found.scores.isfinite().all()
        assert found.bboxes.isfinite().all()
        if detector.with_mask:
            assert found.masks.shape == (100, *result.ori_shape)
