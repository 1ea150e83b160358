# ViT-B/16 pre-trained on ImageNet-21K, its attention exchanged for CBSA, fine-tuned on ImageNet-1K.
# A file in mmpretrain's layout is read with source='mm-vit', one of ViTCSaN with source=None; other sizes with arch='small' and so on.
# Paper:    CBSA, NeurIPS 2025: -
# Measured: -
# Recipe:   ours; 30 epochs of AdamW with layer decay, random resized crop and flip
# Weights:  timm's vit_base_patch16_224.augreg_in21k.safetensors in checkpoints/ or $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/cbsa/vit-cbsa-b_8xb64_in1k.py 8
_base_ = './cbt-t_8xb32_in1k.py'
model = dict(
    data_preprocessor=dict(mean=[127.5, 127.5, 127.5], std=[127.5, 127.5, 127.5]),
    backbone=dict(
        _delete_=True,
        type='csan_mm.ViTCSaN',
        arch='base',
        mixer=dict(type='cbsa', contraction=True),
        out_type='cls_token',
        drop_path_rate=0.1,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/vit_base_patch16_224.augreg_in21k.safetensors',
            source='timm-vit',
        ),
    ),
    head=dict(in_channels=768),
)
train_dataloader = dict(batch_size=64)
sync_bn = None
train_cfg = dict(max_epochs=30)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=True, begin=0, end=3, convert_to_iter_based=True),
    dict(type='CosineAnnealingLR', eta_min=1e-6, by_epoch=True, begin=3, end=30, convert_to_iter_based=True),
]
optim_wrapper = dict(
    _delete_=True,
    type='OptimWrapper',
    constructor='csan_mm.LayerDecayOptimWrapperConstructor',
    paramwise_cfg=dict(layer_decay_rate=0.75, norm_decay_mult=0.0, bias_decay_mult=0.0),
    optimizer=dict(type='AdamW', lr=0.0005, weight_decay=0.05),
    clip_grad=dict(max_norm=1.0),
)
auto_scale_lr = dict(base_batch_size=512)
