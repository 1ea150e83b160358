"""Layer-wise learning rate decay for every backbone that knows its parameters' depths (BEiT, arXiv 2106.08254; ViTDet)."""

from typing import Any

from mmengine.logging import print_log
from torch import nn

from csan_mm.common.checks import check_number
from csan_mm.common.errors import ArgumentError
from csan_mm.engine.weight_decay import OptimWrapperConstructor
from csan_mm.registry import OPTIM_WRAPPER_CONSTRUCTORS

RATE_NAMES = ("layer_decay_rate", "decay_rate")


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class LayerDecayOptimWrapperConstructor(OptimWrapperConstructor):
    """:class:`OptimWrapperConstructor`, whose learning rates also fall with the distance from the output.

    A parameter at depth d of D has the rate lr * layer_decay_rate^(D - 1 - d). Depths come from the backbone's
    ``get_layer_depth(param_name, prefix)``; necks and heads have the full rate. It works for a bare backbone, and for a detector,
    segmentor or classifier with a ``backbone``.

    Args:
        optim_wrapper_cfg: Optimizer wrapper with its ``optimizer``, which must have ``lr``.
        paramwise_cfg: ``layer_decay_rate`` (or ``decay_rate``), in (0, 1], and what :class:`OptimWrapperConstructor` takes:
            ``custom_keys``, ``norm_decay_mult``, ``bias_decay_mult``, ``flat_decay_mult`` and so on; a custom key's ``lr_mult``
            multiplies the layer's rate.

    Raises:
        ValueError: No or an impossible rate, an unknown key, no ``lr``; on calling, a backbone without ``get_layer_depth``.

    Example:
        >>> optim_wrapper = dict(
        ...     type='OptimWrapper',
        ...     constructor='csan_mm.LayerDecayOptimWrapperConstructor',
        ...     paramwise_cfg=dict(layer_decay_rate=0.7, norm_decay_mult=0.0),
        ...     optimizer=dict(type='AdamW', lr=1e-4, weight_decay=0.1),
        ... )
    """

    known_keys = OptimWrapperConstructor.known_keys | set(RATE_NAMES)

    def __init__(self, optim_wrapper_cfg: dict[str, Any], paramwise_cfg: dict[str, Any] | None = None) -> None:
        super().__init__(optim_wrapper_cfg, paramwise_cfg)
        given = [name for name in RATE_NAMES if name in self.paramwise_cfg]
        if len(given) != 1:
            raise ArgumentError(f"paramwise_cfg must have layer_decay_rate, or decay_rate in its place; got {given}")
        self.rate = self.paramwise_cfg[given[0]]
        check_number(f"paramwise_cfg: {given[0]}", self.rate, above=0, most=1)
        if self.base_lr is None:
            raise ArgumentError("layer-wise decay scales the optimizer's lr, and there is none: set optimizer.lr")

    def complete(self, groups: dict[str, dict[str, Any]], model: nn.Module) -> None:
        """Decide decays, and scale each group's learning rate by its parameter's depth."""
        super().complete(groups, model)
        backbone, prefix = find_backbone(model)
        for name, group in groups.items():
            depth, num_layers = backbone.get_layer_depth(name, prefix)
            group["lr"] = group.get("lr", self.base_lr) * self.rate ** (num_layers - 1 - depth)
        rates = [group["lr"] for group in groups.values()]
        print_log(
            f"layer decay {self.rate} over {type(backbone).__name__}: learning rates from {min(rates):.3g} to {max(rates):.3g}",
            logger="current",
        )


def find_backbone(model: nn.Module) -> tuple[nn.Module, str]:
    """The module that knows the depths, and what stands before its parameters' names.

    Raises:
        ValueError: Neither the model's ``backbone`` nor, without one, the model itself has ``get_layer_depth``.
    """
    inner = getattr(model, "backbone", None)
    backbone, prefix = (model, "") if inner is None else (inner, "backbone.")
    if not hasattr(backbone, "get_layer_depth"):
        raise ArgumentError(
            f"layer-wise decay needs to know the depth of a parameter, and {type(backbone).__name__} has no get_layer_depth("
            f"param_name, prefix): take a backbone that has one (all of csan_mm do), or leave the constructor out"
        )
    return backbone, prefix
