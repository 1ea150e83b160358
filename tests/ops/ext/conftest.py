"""mmcv's own functions on the stand-in, also where a compiled ``mmcv._ext`` is installed."""

import importlib
from types import SimpleNamespace

import pytest

import csan_mm  # noqa: F401
from csan_mm.ops.ext.served import OPERATORS

MODULES = ("bbox", "nms", "roi_align", "focal_loss", "deform_conv", "modulated_deform_conv", "multi_scale_deform_attn")


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    served = SimpleNamespace(**OPERATORS)
    for name in MODULES:
        monkeypatch.setattr(importlib.import_module(f"mmcv.ops.{name}"), "ext_module", served)
