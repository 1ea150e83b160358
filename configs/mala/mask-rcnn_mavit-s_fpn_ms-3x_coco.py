# Mask R-CNN with MAViT-S, 36 epochs on COCO with multi-scale training.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Recipe:   the authors' (AdamW, norms do not decay, fp16)
# Weights:  the authors' ImageNet file of MAViT-S (Hugging Face, aldjalkdf/MAViT) as mavit_s.pth in checkpoints/ or
#           $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/mala/mask-rcnn_mavit-s_fpn_ms-3x_coco.py 8 --amp
_base_ = [
    '../_base_/models/mask-rcnn.py',
    '../_base_/datasets/coco_instance_ms.py',
    '../_base_/schedules/adamw_3x.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.MAViT',
        arch='small',
        drop_path_rate=0.15,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_s.pth',
            source='mala',
        ),
    ),
    neck=dict(in_channels=[64, 128, 320, 512]),
)
sync_bn = 'torch'  # 2 images per GPU are too few for the backbone's BN; see ../_base_/schedules/adamw_160k.py
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=500),
    dict(type='MultiStepLR', begin=0, end=36, by_epoch=True, milestones=[27, 33], gamma=0.1),
]
# The stem's norms have no 'norm' in their names.
optim_wrapper = dict(paramwise_cfg=dict(norm_decay_mult=0.0), optimizer=dict(lr=0.0004))
