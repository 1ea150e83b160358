"""What decays, config by config: the kinds of parameters, and which of them the recipe spares."""

import logging
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope
from torch import nn

from csan_mm.analysis.models import build_model

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
SHIPPED = sorted(path for path in CONFIGS.glob("*/*.py") if path.parent.name != "_base_")

#: Recipes of the authors, under which more decays than norms, biases and named parameters would: start of the config's name ->
#: the kinds that decay besides weights.
AUTHORS = {
    "retinanet_mavit": {"norm", "bias"},
    "mask-rcnn_mavit": {"bias"},
    "cascade-mask-rcnn_mavit": {"bias"},
    "mavit-t_upernet": {"bias"},
    "mavit-s_upernet": {"bias"},
    "mavit-b_upernet": {"bias"},
    "mavit-l_upernet": {"bias"},
    "mavit-t_fpn": {"norm", "bias"},
    "mavit-s_fpn": {"norm", "bias"},
    "mavit-b_fpn": {"norm", "bias"},
    "mavit-l_fpn": {"norm", "bias"},
    "cbt-t_8xb32": {"norm", "bias", "named"},
    "cbt-s_8xb32": {"norm", "bias", "named"},
    "cbt-b_8xb32": {"norm", "bias", "named"},
    "cbt-l_8xb32": {"norm", "bias", "named"},
    "cbt-no-contraction": {"norm", "bias", "named"},
    "cbt-mssa": {"norm", "bias", "named"},
    "cbt-tssa": {"norm", "bias", "named"},
    "vit-cbsa": {"norm", "bias", "named"},
    "vit-linear": {"norm", "bias", "named"},
    "vit-tuned": {"norm", "bias", "named"},
}

#: Learned queries and levels of Mask2Former, which its recipe names.
MASK2FORMER = ("query_embed", "query_feat", "level_embed")

#: At least one per schedule; the other configs share their schedules with these and are slow tests.
QUICK = (
    "cbt-t_8xb32_in1k",
    "cbt-c128_cbt_1xb8-3k_digits-128x128",
    "mask-rcnn_mavit-t_fpn_1x_coco",
    "mask-rcnn_swin-csan-t_fpn_ms-3x_coco",
    "mask-rcnn_vit-csan-s_simple-fpn_lsj-100e_coco",
    "mavit-t_fpn_8xb2-80k_ade20k-512x512",
    "mavit-t_8xb128_in1k",
    "retinanet_mavit-t_fpn_1x_coco",
    "retinanet_swin-csan-t_fpn_1x_coco",
    "swin-csan-t_8xb256_in1k",
    "swin-csan-t_upernet_8xb2-160k_ade20k-512x512",
    "vit-cbsa-b_8xb64_in1k",
    "weightformer-t_8xb256_in1k",
    "weightformer-t_upernet_8xb2-160k_ade20k-512x512",
)


def kinds(model: nn.Module) -> Iterator[tuple[str, str]]:
    """(name, kind) of every parameter, by the class of its module, its name, or the backbone's word."""
    named = {f"backbone.{name}" for name in model.backbone.no_weight_decay()}
    named |= {f"{head}.{name}.weight" for head in ("panoptic_head", "decode_head") for name in MASK2FORMER}
    for prefix, module in model.named_modules():
        norm = type(module).__name__.lower().endswith(("norm", "norm1d", "norm2d", "ln2d"))
        for own, _ in module.named_parameters(recurse=False):
            name = f"{prefix}.{own}"
            yield name, "named" if name in named else "norm" if norm else "bias" if own.endswith("bias") else "weight"


def decays(cfg: Config) -> tuple[nn.Module, dict[str, float], float]:
    """The model without memory, the decay of every parameter, and the optimizer's."""
    cfg.model.backbone.init_cfg = None
    with torch.device("meta"):
        model = build_model(cfg)
    with DefaultScope.overwrite_default_scope(cfg.default_scope):
        optimizer = build_optim_wrapper(model, cfg.optim_wrapper).optimizer
    names = {parameter: name for name, parameter in model.named_parameters()}
    found = {names[p]: group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    return model, found, cfg.optim_wrapper.optimizer.weight_decay


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """mmengine writes a line for every parameter."""
    logging.disable(logging.INFO)
    yield
    logging.disable(logging.NOTSET)


def cases() -> list:
    return [pytest.param(path, id=path.stem, marks=[] if path.stem in QUICK else pytest.mark.slow) for path in SHIPPED]


@pytest.mark.parametrize("path", cases())
def test_what_decays(path: Path) -> None:
    model, found, full = decays(Config.fromfile(path))
    also = next((kinds for start, kinds in AUTHORS.items() if path.stem.startswith(start)), set())
    wrong = defaultdict(list)
    for name, kind in kinds(model):
        if name in found and found[name] != (full if kind == "weight" or kind in also else 0.0):
            wrong[kind].append((name, found[name]))
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert set(found) == trained
    assert not wrong


def test_every_kind_occurs() -> None:
    counts: dict[str, int] = defaultdict(int)
    model, _, _ = decays(Config.fromfile(CONFIGS / "csan" / "swin-csan-t_upernet_8xb2-160k_ade20k-512x512.py"))
    for _, kind in kinds(model):
        counts[kind] += 1
    assert set(counts) == {"named", "norm", "bias", "weight"}
    batch_norms = [name for name, module in model.named_modules() if isinstance(module, nn.BatchNorm2d)]
    assert len(batch_norms) == 13  # of UPerNet and its auxiliary head, none with 'norm' in its name
