# DeiT-T (ViT-T/16) with MALA, its gate and its local enhancement in place of its attention, and MAViT's convolution in its
# feed-forward network, on ImageNet-1K: 6.31 M parameters, the paper's 6.3 M.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 75.1 top-1, 6.3M parameters
# Measured: -
# Recipe:   MAViT's, drop path 0.1; the paper gives none for this comparison, so ours
# Command:  tools/dist_train.sh configs/mala/vit-mala-t_8xb128_in1k.py 8 --amp
_base_ = [
    '../_base_/models/vit-classifier.py',
    '../_base_/datasets/imagenet_256.py',
    '../_base_/schedules/mala_300e.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.ViTCSaN',
        arch='tiny',
        mixer=dict(type='mala', gate=True, local_enhancement=True),
        ffn='conv-mlp',
        drop_path_rate=0.1,
        out_type='cls_token',
    ),
    head=dict(in_channels=192),
)
train_dataloader = dict(batch_size=128)
