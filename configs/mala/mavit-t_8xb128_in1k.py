# MAViT-T on ImageNet-1K, 310 epochs: makes the weights that detection and segmentation start from.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 82.9 top-1
# Measured: -
# Recipe:   the authors' (5e-4 per 512 images, 1024 images; tested at a short side of 256)
# Command:  tools/dist_train.sh configs/mala/mavit-t_8xb128_in1k.py 8 --amp
_base_ = [
    '../_base_/models/image-classifier.py',
    '../_base_/datasets/imagenet_256.py',
    '../_base_/schedules/mala_300e.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(
    backbone=dict(type='csan_mm.MAViT', arch='tiny', drop_path_rate=0.1, out_indices=(3,), norm_cfg=None),
    neck=dict(_delete_=True, type='csan_mm.MAViTNeck', in_channels=512, out_channels=2048),
    head=dict(in_channels=2048),
)
train_dataloader = dict(batch_size=128)
sync_bn = 'torch'  # mmengine's Runner turns BN into SyncBN under several processes
