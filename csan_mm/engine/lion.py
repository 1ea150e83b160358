"""The optimizer of CBSA's ImageNet recipe, under a name that configs find whatever else is installed."""

from timm.optim import Lion

from csan_mm.registry import OPTIMIZERS

# Lion (Chen et al., arXiv 2302.06675): optimizer=dict(type='csan_mm.Lion', lr=2e-4, weight_decay=0.05). torch has none, and
# mmengine's own type='Lion' needs the package lion-pytorch; timm, which csan_mm requires anyway, has the same rule.
OPTIMIZERS.register_module(module=Lion)
