# Classification of single digits with a small CBT from scratch, on more images than the digits have by themselves:
# python tools/dataset_tools/make_digits.py data/digits3000 --forms imagenet --train-count 3000 --val-count 500
# Paper:    none, this is a check that everything works
# Measured: see configs/cbsa/README.md
# Recipe:   own; at half the size, where the stem sees a digit in few cells and training takes off sooner
# Command:  python tools/train.py configs/digits/cbt-c128_1xb32-30e_digits-cls.py --cfg-options data_root=data/digits3000/imagenet/
_base_ = [
    '../_base_/models/image-classifier.py',
    '../_base_/datasets/digits_classification.py',
    '../_base_/schedules/digits_epochs.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(
    data_preprocessor=dict(num_classes=10),
    backbone=dict(
        type='csan_mm.CBT',
        arch=dict(embed_dims=128, depth=4, num_heads=4),
        mixer=dict(type='cbsa', rep_grid=2),  # 4 representatives for 4 x 4 patches
        img_size=64,
        out_type='avg_featmap',
    ),
    neck=None,
    head=dict(in_channels=128, num_classes=10),
    train_cfg=None,
)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='RandomCrop', crop_size=128, padding=16, padding_mode='reflect'),
    dict(
        type='RandomResizedCrop',
        scale=64,
        crop_ratio_range=(0.7, 1.0),
        aspect_ratio_range=(0.8, 1.25),
        interpolation='area',
    ),
    dict(type='PackInputs'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=64, interpolation='area'),
    dict(type='PackInputs'),
]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
train_cfg = dict(max_epochs=30, val_interval=10)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=200),
    dict(type='CosineAnnealingLR', eta_min=1e-5, by_epoch=True, begin=0, end=30, convert_to_iter_based=True),
]
optim_wrapper = dict(optimizer=dict(lr=0.002))
auto_scale_lr = dict(base_batch_size=32)
