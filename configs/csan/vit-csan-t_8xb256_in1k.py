# ViT-CSaN-T/16 on ImageNet-1K, 310 epochs.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   the paper's (2e-3 at 2048 images, bf16, crop 0.9); drop path 0.0 is ours
# Command:  tools/dist_train.sh configs/csan/vit-csan-t_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = [
    '../_base_/models/vit-classifier.py',
    '../_base_/datasets/imagenet.py',
    '../_base_/schedules/adamw_300e.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(
    backbone=dict(type='csan_mm.ViTCSaN', arch='tiny', drop_path_rate=0.0, out_type='cls_token'),
    head=dict(in_channels=192),
)
