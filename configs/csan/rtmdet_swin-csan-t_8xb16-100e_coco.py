# RTMDet with Swin-CSaN-T, 100 epochs on COCO.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmdet's rtmdet_l_swin_b_4xb32-100e_coco (AdamW), over eight GPUs
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/csan/rtmdet_swin-csan-t_8xb16-100e_coco.py 8
_base_ = '../_base_/recipes/rtmdet_8xb16-100e_coco.py'
model = dict(
    backbone=dict(
        type='csan_mm.SwinCSaN',
        arch='tiny',
        drop_path_rate=0.3,
        out_indices=(1, 2, 3),
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/swin_tiny_patch4_window7_224.pth',
            source='ms-swin',
        ),
    ),
    neck=dict(in_channels=[192, 384, 768]),
)
