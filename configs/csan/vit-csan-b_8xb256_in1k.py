# ViT-CSaN-B/16 on ImageNet-1K, 310 epochs.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: - (plain ViT-B 81.8 top-1)
# Measured: -
# Recipe:   the paper's (8 x 256 images, bf16)
# Command:  tools/dist_train.sh configs/csan/vit-csan-b_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = [
    '../_base_/models/vit-classifier.py',
    '../_base_/datasets/imagenet.py',
    '../_base_/schedules/adamw_300e.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(
    backbone=dict(type='csan_mm.ViTCSaN', arch='base', drop_path_rate=0.3, out_type='cls_token'),
    head=dict(in_channels=768),
)
