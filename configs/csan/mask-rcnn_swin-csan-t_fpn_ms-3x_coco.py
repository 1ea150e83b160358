# Mask R-CNN with Swin-CSaN-T, 36 epochs on COCO with multi-scale training.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmdet's mask-rcnn_swin-t-p4-w7_fpn_ms-crop-3x_coco (AdamW)
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/csan/mask-rcnn_swin-csan-t_fpn_ms-3x_coco.py 8
_base_ = [
    '../_base_/models/mask-rcnn_swin-csan-t.py',
    '../_base_/datasets/coco_instance_ms.py',
    '../_base_/schedules/adamw_3x.py',
    '../_base_/mmdet_runtime.py',
]
