# CBT-T on ImageNet-1K, 150 epochs of Lion.
# Paper:    CBSA, NeurIPS 2025: 63.2 top-1
# Measured: -
# Recipe:   the authors' (256 images, AMP, everything decays; random resized crop and flip only)
# Command:  tools/dist_train.sh configs/cbsa/cbt-t_8xb32_in1k.py 8 --amp
_base_ = [
    '../_base_/models/image-classifier.py',
    '../_base_/datasets/imagenet_flip.py',
    '../_base_/schedules/adamw_300e.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(
    backbone=dict(type='csan_mm.CBT', arch='tiny', out_type='cls_token'),
    neck=None,
    head=dict(in_channels=192, init_cfg=None),  # as torch starts it
    train_cfg=None,  # no Mixup, no CutMix
)
train_dataloader = dict(batch_size=32)
sync_bn = 'torch'  # for the stem: 32 images per GPU are few
train_cfg = dict(max_epochs=150)
# Epoch e has min((e + 1) / 20, half a cosine over 150 epochs): the line is the lower one up to epoch 18.
param_scheduler = [
    dict(type='csan_mm.WarmupCosineLR', warmup=19, T_max=150, start_factor=1 / 20, eta_min=0.0, by_epoch=True)
]
optim_wrapper = dict(
    _delete_=True, type='OptimWrapper', optimizer=dict(type='csan_mm.Lion', lr=0.0002, weight_decay=0.05)
)
auto_scale_lr = dict(base_batch_size=256)
