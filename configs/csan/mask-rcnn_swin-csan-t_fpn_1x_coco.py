# Mask R-CNN with Swin-CSaN-T, 12 epochs on COCO.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmdet's mask-rcnn_swin-t-p4-w7_fpn_1x_coco (AdamW)
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/csan/mask-rcnn_swin-csan-t_fpn_1x_coco.py 8
_base_ = [
    '../_base_/models/mask-rcnn_swin-csan-t.py',
    '../_base_/datasets/coco_instance.py',
    '../_base_/schedules/adamw_1x.py',
    '../_base_/mmdet_runtime.py',
]
