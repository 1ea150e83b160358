# Classification of single digits with a small CBT from scratch, on more images than the digits have by themselves:
# python tools/dataset_tools/make_digits.py data/digits3000 --forms imagenet --train-count 3000 --val-count 500
# Paper:    none, this is a check that everything works
# Measured: see configs/cbsa/README.md
# Recipe:   own
# Command:  python tools/train.py configs/digits/cbt-c64_1xb32-40e_digits-cls.py --cfg-options data_root=data/digits3000/imagenet/
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
        arch=dict(embed_dims=64, depth=4, num_heads=4),
        img_size=128,
        out_type='avg_featmap',
    ),
    neck=None,
    head=dict(in_channels=64, num_classes=10),
    train_cfg=None,
)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='RandomCrop', crop_size=128, padding=16, padding_mode='reflect'),
    dict(type='PackInputs'),
]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
train_cfg = dict(max_epochs=40, val_interval=10)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=300),
    dict(type='CosineAnnealingLR', eta_min=1e-5, by_epoch=True, begin=0, end=40, convert_to_iter_based=True),
]
auto_scale_lr = dict(base_batch_size=32)
