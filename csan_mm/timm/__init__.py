"""The backbones in timm: ``import csan_mm.timm``, then ``timm.create_model('swin_csan_tiny.csan_mm')``.

Every name of :func:`csan_mm.list_models` is there with underscores for hyphens, as a classifier (:class:`TimmModel`) with the
head of its paper, and with ``features_only=True`` as a pyramid of maps. There are no weights to download:
``pretrained=True, pretrained_cfg_overlay=dict(file=PATH)`` reads a file of ours or of any layout that ``csan_mm convert`` knows.
"""

from typing import Any

from timm.models import build_model_with_cfg, generate_default_cfgs, register_model

from csan_mm.timm.model import STEM_CONV, TimmModel
from csan_mm.timm.weights import rest_of
from csan_mm.zoo import FAMILIES, list_models

__all__ = ["TimmModel"]

#: What stands behind the dot in timm's names.
TAG = "csan_mm"


def _default_cfg(family: str) -> dict[str, Any]:
    """ImageNet's normalisation and the test transform of the papers' recipes."""
    return {
        "url": "",
        "custom_load": True,  # older timm then lets csan_mm read the file; a newer one reads it safely by itself
        "num_classes": 1000,
        "input_size": (3, 224, 224),
        "pool_size": (14, 14) if family in ("vit-csan", "weightformer", "cbt") else (7, 7),
        "crop_pct": 0.9 if family.endswith("csan") else 0.875,
        "interpolation": "bilinear" if family == "cbt" else "bicubic",
        "mean": (0.485, 0.456, 0.406),
        "std": (0.229, 0.224, 0.225),
        "first_conv": STEM_CONV[family],
        "classifier": "head.fc",
        "license": "apache-2.0",
    }


def _family(name: str) -> str:
    return max((family for family in FAMILIES if name.startswith(f"{family}-")), key=len)


default_cfgs = generate_default_cfgs(
    {f"{name.replace('-', '_')}.{TAG}": _default_cfg(_family(name)) for name in list_models()}
)


def _register(name: str) -> None:
    variant = name.replace("-", "_")
    levels = 3 if _default_cfg(_family(name))["pool_size"] == (14, 14) else (0, 1, 2, 3)

    def create(pretrained: bool = False, **options: Any) -> TimmModel:
        return build_model_with_cfg(
            TimmModel,
            variant,
            pretrained,
            feature_cfg={"out_indices": levels, "feature_cls": "getter"},
            pretrained_filter_fn=rest_of,
            pretrained_strict=False,  # the backbone's weights are in place, and were matched, when timm loads the rest
            name=name,
            **options,
        )

    create.__name__ = create.__qualname__ = variant
    create.__module__ = __name__
    create.__doc__ = f"{name} of csan_mm; options besides timm's own are those of its class."
    globals()[variant] = register_model(create)


for _name in list_models():
    _register(_name)
