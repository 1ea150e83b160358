# Faster R-CNN with MAViT-T, 12 epochs on COCO.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Recipe:   mmdet's mask-rcnn_swin-t-p4-w7_fpn_1x_coco (AdamW), without masks; biases do not decay here
# Weights:  see retinanet_mavit-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/mala/faster-rcnn_mavit-t_fpn_1x_coco.py 8
_base_ = [
    '../_base_/models/faster-rcnn.py',
    '../_base_/datasets/coco_detection.py',
    '../_base_/schedules/adamw_1x.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.MAViT',
        arch='tiny',
        drop_path_rate=0.1,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_t.pth',
            source='mala',
        ),
    ),
    neck=dict(in_channels=[64, 128, 256, 512]),
)
sync_bn = 'torch'  # few images per GPU for the backbone's BN; see ../_base_/schedules/adamw_160k.py
