# CBT-T on ImageNet-1K, 150 epochs of Lion.
# Paper:    CBSA, NeurIPS 2025: 63.2 top-1
# Measured: -
# Recipe:   the authors' (256 images, 20 epochs of warm-up, random resized crop and flip only)
# Command:  tools/dist_train.sh configs/cbsa/cbt-t_8xb32_in1k.py 8
_base_ = [
    '../_base_/models/image-classifier.py',
    '../_base_/datasets/imagenet.py',
    '../_base_/schedules/adamw_300e.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(
    backbone=dict(type='csan_mm.CBT', arch='tiny', out_type='cls_token'),
    neck=None,
    head=dict(in_channels=192),
    train_cfg=None,  # no Mixup, no CutMix
)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='RandomResizedCrop', scale=224, backend='pillow', interpolation='bicubic'),
    dict(type='RandomFlip', prob=0.5, direction='horizontal'),
    dict(type='PackInputs'),
]
train_dataloader = dict(
    batch_size=32,
    sampler=dict(_delete_=True, type='DefaultSampler', shuffle=True),
    dataset=dict(pipeline=train_pipeline),
)
sync_bn = 'torch'  # for the stem: 32 images per GPU are few
train_cfg = dict(max_epochs=150)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=True, begin=0, end=20, convert_to_iter_based=True),
    dict(type='CosineAnnealingLR', eta_min=0.0, by_epoch=True, begin=20, end=150, convert_to_iter_based=True),
]
optim_wrapper = dict(
    _delete_=True, type='OptimWrapper', optimizer=dict(type='csan_mm.Lion', lr=0.0002, weight_decay=0.05)
)
auto_scale_lr = dict(base_batch_size=256)
