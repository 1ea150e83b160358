# DINO with MAViT-T, 12 epochs on COCO.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Recipe:   mmdet's dino-5scale_swin-l_8xb2-12e_coco (AdamW, a tenth of the rate in the backbone), with four levels; norms and
#           biases do not decay here
# Weights:  see retinanet_mavit-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/mala/dino-4scale_mavit-t_8xb2-12e_coco.py 8
_base_ = '../_base_/recipes/dino-4scale_8xb2-12e_coco.py'
model = dict(
    backbone=dict(
        type='csan_mm.MAViT',
        arch='tiny',
        drop_path_rate=0.1,
        out_indices=(1, 2, 3),
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_t.pth',
            source='mala',
        ),
    ),
    neck=dict(in_channels=[128, 256, 512]),
)
sync_bn = 'torch'  # few images per GPU for the backbone's BN; see ../_base_/schedules/adamw_160k.py
