"""A training step and a prediction with the network of every config, at its full width, on 96 x 96 pixels."""

from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import MODELS, DefaultScope
from model_inputs import SIDE, batch_for
from torch import nn

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
SHIPPED = sorted(path for path in CONFIGS.glob("*/*.py") if path.parent.name != "_base_")

#: At least one per family and per kind of network; the others are slow tests.
QUICK = (
    "cascade-mask-rcnn_mavit-s_fpn_ms-3x_coco",
    "cbt-t_8xb32_in1k",
    "hiera-csan-t_upernet_8xb2-160k_ade20k-512x512",
    "mask-rcnn_swin-csan-c48_fpn_12e_digits",
    "mask-rcnn_swin-csan-t_fpn_1x_coco",
    "mask-rcnn_vit-csan-s_simple-fpn_lsj-100e_coco",
    "mavit-t_8xb128_in1k",
    "retinanet_swin-csan-t_fpn_1x_coco",
    "swin-csan-c48_1xb32-12e_digits-cls",
    "swin-csan-v2-t_upernet_8xb2-160k_ade20k-512x512",
    "vit-t_cbt_8xb1-160k_ade20k-512x512",
    "weightformer-t_upernet_8xb2-160k_ade20k-512x512",
)

BOXES_ONLY = ("RetinaNet", "FasterRCNN", "DINO", "RTMDet")

SMALL = {
    "type": "csan_mm.SwinCSaN",
    "arch": {"embed_dims": 24, "depths": (1, 1, 1, 1), "num_heads": (1, 2, 4, 8)},
}


def build(cfg: Config) -> nn.Module:
    """The model of a config, without its pretrained weights, at this test's size and with few proposals."""
    cfg.model.backbone.init_cfg = None
    if cfg.model.type == "DINO":
        cfg.model.num_queries = 20  # so small an image has fewer tokens than 900
    if "rpn" in (cfg.model.get("test_cfg") or {}):
        cfg.model.test_cfg.rpn.update(max_per_img=20)
        cfg.model.train_cfg.rpn_proposal.update(max_per_img=20)
    cfg.model.data_preprocessor.pop("batch_augments", None)  # Mask2Former pads to 1024 x 1024
    if "size" in cfg.model.data_preprocessor:
        cfg.model.data_preprocessor.size = (SIDE, SIDE)
    return MODELS.build(cfg.model)


def check_step_and_prediction(cfg: Config) -> None:
    """Every parameter gets a finite gradient (so DDP needs no search for unused ones); predictions are well-formed."""
    with DefaultScope.overwrite_default_scope(cfg.default_scope):
        model = build(cfg)
        batch = model.data_preprocessor(batch_for(cfg), True)
        loss, _ = model.parse_losses(model(**batch, mode="loss"))
        loss.backward()
        assert loss.isfinite()
        trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
        assert (len(trained) < len(list(model.parameters()))) == (cfg.model.backbone.get("frozen_stages", -1) >= 0)
        assert not [name for name, parameter in trained.items() if parameter.grad is None]
        assert all(parameter.grad.isfinite().all() for parameter in trained.values())
        model.eval()
        predictions = model.test_step(batch_for(cfg))
    assert len(predictions) == 2
    for prediction in predictions:
        check_prediction(cfg, prediction)


def check_prediction(cfg: Config, prediction: object) -> None:
    if cfg.default_scope == "mmdet":
        found = prediction.pred_instances
        assert found.bboxes.shape == (len(found), 4)
        assert ("masks" in found) == (cfg.model.type not in BOXES_ONLY)
    elif cfg.default_scope == "mmseg":
        labels = prediction.pred_sem_seg.data
        assert labels.shape == (1, SIDE, SIDE)
        assert int(labels.max()) < cfg.model.decode_head.num_classes
    else:
        torch.testing.assert_close(prediction.pred_score.sum(), torch.tensor(1.0))


def cases() -> list:
    return [
        pytest.param(path, id=path.stem, marks=[] if path.stem in QUICK else [pytest.mark.slow]) for path in SHIPPED
    ]


@pytest.mark.parametrize("path", cases())
def test_every_parameter_learns(path: Path) -> None:
    check_step_and_prediction(Config.fromfile(path))


@pytest.mark.parametrize(("model", "scope"), [("cascade-mask-rcnn", "mmdet"), ("semantic-fpn", "mmseg")])
def test_models_no_config_of_this_family_uses(model: str, scope: str) -> None:
    cfg = Config.fromfile(CONFIGS / "_base_" / "models" / f"{model}.py")
    cfg.default_scope = scope
    cfg.model.backbone = SMALL
    cfg.model.neck.in_channels = [24, 48, 96, 192]
    check_step_and_prediction(cfg)
