# Swin-T with MALA over the whole map of each stage in place of its window attention, on ImageNet-1K.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 83.7 top-1
# Measured: -
# Recipe:   MAViT's, drop path 0.2; the paper gives none for this comparison, so ours
# Command:  tools/dist_train.sh configs/mala/swin-mala-t_8xb128_in1k.py 8 --amp
_base_ = [
    '../_base_/models/image-classifier.py',
    '../_base_/datasets/imagenet_256.py',
    '../_base_/schedules/mala_300e.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.SwinCSaN',
        arch='tiny',
        mixer=dict(type='mala', gate=True, local_enhancement=True),
        window_size=None,
        drop_path_rate=0.2,
        out_indices=(3,),
    ),
    head=dict(in_channels=768),
)
train_dataloader = dict(batch_size=128)
