# WeightFormer-T on ImageNet-1K, 300 epochs: makes the weights that detection and segmentation start from.
# Paper:    WeightFormer, arXiv 2605.01711: 76.3 top-1
# Measured: -
# Recipe:   the authors' (2e-3 at 2048 images, clip 5; AMP for T and S)
# Command:  tools/dist_train.sh configs/weightformer/weightformer-t_8xb256_in1k.py 8 --amp
_base_ = [
    '../_base_/models/image-classifier.py',
    '../_base_/datasets/imagenet.py',
    '../_base_/schedules/adamw_300e.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(backbone=dict(type='csan_mm.WeightFormer', arch='tiny'), head=dict(in_channels=192))
train_dataloader = dict(
    sampler=dict(_delete_=True, type='DefaultSampler', shuffle=True)
)  # one view of an image per epoch
train_cfg = dict(max_epochs=300)
optim_wrapper = dict(paramwise_cfg=dict(flat_decay_mult=0.0), clip_grad=dict(max_norm=5.0))
