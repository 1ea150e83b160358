"""Small configs of digits, and where tools and configs lie."""

from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
CONFIGS = TOOLS.parent / "configs"

#: Two iterations on two images each, without worker processes.
TINY = """
_base_ = {base!r}
model = dict({model})
train_dataloader = dict(batch_size=2, num_workers=0)
test_dataloader = dict(batch_size=2, num_workers=0)
train_cfg = dict(_delete_=True, type='IterBasedTrainLoop', max_iters=2, val_interval=1000)
val_cfg = None
val_dataloader = None
val_evaluator = None
param_scheduler = []
default_hooks = dict(checkpoint=dict(by_epoch=False, interval=1, max_keep_ckpts=-1), logger=dict(interval=1))
log_processor = dict(by_epoch=False)
"""
_BACKBONE = "arch=dict(embed_dims=16, depths=(1, 1, 1, 1), num_heads=(1, 2, 4, 8))"
_AUXILIARY = "auxiliary_head=dict(in_channels=64, channels=16)"
FAMILIES = {
    "detection": (
        "retinanet_swin-csan-c48_fpn_12e_digits.py",
        f"backbone=dict({_BACKBONE}), neck=dict(in_channels=[16, 32, 64, 128])",
    ),
    "segmentation": (
        "swin-csan-c48_upernet_1xb8-1k_digits-128x128.py",
        f"backbone=dict({_BACKBONE}), decode_head=dict(in_channels=[16, 32, 64, 128], channels=16), {_AUXILIARY}",
    ),
    "classification": (
        "swin-csan-c48_1xb32-12e_digits-cls.py",
        f"backbone=dict({_BACKBONE}), head=dict(in_channels=128)",
    ),
}
