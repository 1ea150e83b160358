# RetinaNet with Swin-CSaN-T, 12 epochs on COCO.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 38.0 box AP, plain Swin-T 37.3 (the paper gives no schedule)
# Measured: -
# Recipe:   mmdet's retinanet_swin-t-p4-w7_fpn_1x_coco (SGD)
# Weights:  the paper starts from plain Swin's ImageNet weights, CSaN's own parameters random: Microsoft's file
#           swin_tiny_patch4_window7_224.pth in checkpoints/ or $CSAN_MM_WEIGHTS; nothing is downloaded
# Command:  tools/dist_train.sh configs/csan/retinanet_swin-csan-t_fpn_1x_coco.py 8
_base_ = [
    '../_base_/models/retinanet.py',
    '../_base_/datasets/coco_detection.py',
    '../_base_/schedules/sgd_1x.py',
    '../_base_/mmdet_runtime.py',
]
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
