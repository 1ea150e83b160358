# Faster R-CNN with Swin-CSaN-T, 12 epochs on COCO.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmdet's mask-rcnn_swin-t-p4-w7_fpn_1x_coco (AdamW), without masks; biases do not decay here
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/csan/faster-rcnn_swin-csan-t_fpn_1x_coco.py 8
_base_ = [
    '../_base_/models/faster-rcnn.py',
    '../_base_/datasets/coco_detection.py',
    '../_base_/schedules/adamw_1x.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.SwinCSaN',
        arch='tiny',
        drop_path_rate=0.2,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/swin_tiny_patch4_window7_224.pth',
            source='ms-swin',
        ),
    ),
    neck=dict(in_channels=[96, 192, 384, 768]),
)
