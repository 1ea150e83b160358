# Swin-CSaN-T on ImageNet-1K, 310 epochs: makes the weights that detection and segmentation start from.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 82.7 top-1
# Measured: -
# Recipe:   the paper's (2e-3 at 2048 images, bf16, crop 0.9)
# Command:  tools/dist_train.sh configs/csan/swin-csan-t_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = [
    '../_base_/models/image-classifier.py',
    '../_base_/datasets/imagenet.py',
    '../_base_/schedules/adamw_300e.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(
    backbone=dict(type='csan_mm.SwinCSaN', arch='tiny', drop_path_rate=0.2, out_indices=(3,)),
    head=dict(in_channels=768),
)
