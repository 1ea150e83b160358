# DINO with Swin-CSaN-T, 12 epochs on COCO.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmdet's dino-5scale_swin-l_8xb2-12e_coco (AdamW, a tenth of the rate in the backbone), with four levels; norms and
#           biases do not decay here
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/csan/dino-4scale_swin-csan-t_8xb2-12e_coco.py 8
_base_ = '../_base_/recipes/dino-4scale_8xb2-12e_coco.py'
model = dict(
    backbone=dict(
        type='csan_mm.SwinCSaN',
        arch='tiny',
        drop_path_rate=0.2,
        out_indices=(1, 2, 3),
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/swin_tiny_patch4_window7_224.pth',
            source='ms-swin',
        ),
    ),
    neck=dict(in_channels=[192, 384, 768]),
)
