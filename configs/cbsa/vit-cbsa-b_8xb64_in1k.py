# ViT-B/16 pre-trained on ImageNet-21K and tuned on ImageNet-1K, fine-tuned there once more with
# its attention in CBSA's form, at 224 pixels.
# Paper:    CBSA, NeurIPS 2025: 79.2 top-1 (read from a figure, so approximate)
# Measured: -
# Recipe:   the authors' (512 images, AMP, everything decays; random resized crop and flip only)
# Weights:  timm's vit_base_patch16_224.augreg_in21k_ft_in1k.safetensors, head included, in checkpoints/ or
#           $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/cbsa/vit-cbsa-b_8xb64_in1k.py 8 --amp
_base_ = [
    '../_base_/models/image-classifier.py',
    '../_base_/datasets/imagenet_flip.py',
    '../_base_/schedules/adamw_300e.py',
    '../_base_/mmpretrain_runtime.py',
]
weights = '{{$CSAN_MM_WEIGHTS:checkpoints}}/vit_base_patch16_224.augreg_in21k_ft_in1k.safetensors'
model = dict(
    backbone=dict(
        type='csan_mm.ViTCSaN',
        arch='base',
        mixer=dict(type='cbsa-adapted'),
        out_type='cls_token',
        init_cfg=dict(type='csan_mm.Pretrained', checkpoint=weights, source='timm-vit'),
    ),
    neck=None,
    head=dict(
        in_channels=768,
        init_cfg=dict(_delete_=True, type='csan_mm.Pretrained', checkpoint=weights, source='timm-vit', part='head'),
    ),
    train_cfg=None,  # no Mixup, no CutMix
)
train_dataloader = dict(batch_size=64)
train_cfg = dict(max_epochs=50)
# Epoch e has min((e + 1) / 10, half a cosine over 50 epochs), the form of the authors' other schedule.
param_scheduler = [
    dict(type='csan_mm.WarmupCosineLR', warmup=9, T_max=50, start_factor=1 / 10, eta_min=0.0, by_epoch=True)
]
optim_wrapper = dict(_delete_=True, type='OptimWrapper', optimizer=dict(type='AdamW', lr=0.00005, weight_decay=0.01))
auto_scale_lr = dict(base_batch_size=512)
