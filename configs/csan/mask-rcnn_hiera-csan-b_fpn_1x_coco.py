# Mask R-CNN with Hiera-CSaN-B, 12 epochs on COCO.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmdet's mask-rcnn_swin-t-p4-w7_fpn_1x_coco (AdamW); the paper gives none
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py; here Meta's hiera_base_224.pth, whose weights the plain part takes
# Command:  tools/dist_train.sh configs/csan/mask-rcnn_hiera-csan-b_fpn_1x_coco.py 8
_base_ = [
    '../_base_/models/mask-rcnn.py',
    '../_base_/datasets/coco_instance.py',
    '../_base_/schedules/adamw_1x.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.HieraCSaN',
        arch='base',
        drop_path_rate=0.3,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/hiera_base_224.pth',
            source='meta-hiera',
        ),
    ),
    neck=dict(in_channels=[96, 192, 384, 768]),
)
