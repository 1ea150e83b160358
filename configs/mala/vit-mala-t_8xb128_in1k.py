# DeiT-T (ViT-T/16) with MALA in the place of its attention, on ImageNet-1K.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 75.1 top-1
# Measured: -
# Recipe:   MAViT's; the paper's for this comparison is not known to us
# Command:  tools/dist_train.sh configs/mala/vit-mala-t_8xb128_in1k.py 8 --amp
_base_ = [
    '../_base_/models/vit-classifier.py',
    '../_base_/datasets/imagenet.py',
    '../_base_/schedules/adamw_300e.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(
    backbone=dict(type='csan_mm.ViTCSaN', arch='tiny', mixer='mala', drop_path_rate=0.1, out_type='cls_token'),
    head=dict(in_channels=192),
)
train_dataloader = dict(batch_size=128)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=True, begin=0, end=5, convert_to_iter_based=True),
    dict(type='CosineAnnealingLR', eta_min=1e-5, by_epoch=True, begin=5, end=300, convert_to_iter_based=True),
]
optim_wrapper = dict(optimizer=dict(lr=0.001))
# Averaging keeps 0.99996^(batch/512) of the old weights.
custom_hooks = [dict(type='EMAHook', momentum=1 - 0.99996**2, update_buffers=True, priority='ABOVE_NORMAL')]
auto_scale_lr = dict(base_batch_size=1024)
