"""A published file in mmdet's own tools, which know nothing of csan_mm but the config's custom_imports."""

import torch
from mmengine.config import Config

from csan_mm.analysis.models import build_model
from csan_mm.checkpoint.backbone_file import publish


def test_init_detector_and_the_inferencer_take_its_class_names(tmp_path, repo_root):
    from mmdet.apis import DetInferencer, init_detector

    path = repo_root / "configs" / "digits" / "retinanet_swin-csan-c48_fpn_12e_digits.py"
    cfg = Config.fromfile(path)
    meta = {"epoch": 1, "dataset_meta": {"classes": tuple("9876543210"), "palette": [(1, 2, 3)] * 10}}
    torch.save({"state_dict": build_model(cfg).state_dict(), "meta": meta}, tmp_path / "epoch_1.pth")
    published = str(publish(tmp_path / "epoch_1.pth", tmp_path / "retinanet.pth"))
    assert init_detector(cfg, published, device="cpu").dataset_meta["classes"] == list("9876543210")
    inferencer = DetInferencer(str(path), published, device="cpu", show_progress=False)
    assert inferencer.visualizer.dataset_meta["classes"] == list("9876543210")
