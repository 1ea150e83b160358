# Mask R-CNN with Hiera-CSaN-T, 12 epochs on COCO.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   mmdet's mask-rcnn_swin-t-p4-w7_fpn_1x_coco (AdamW); the paper gives none
# Weights:  see retinanet_swin-csan-t_fpn_1x_coco.py; here Meta's hiera_tiny_224.pth, whose weights the plain part takes
# Command:  tools/dist_train.sh configs/csan/mask-rcnn_hiera-csan-t_fpn_1x_coco.py 8
_base_ = [
    '../_base_/models/mask-rcnn_hiera-csan-t.py',
    '../_base_/datasets/coco_instance.py',
    '../_base_/schedules/adamw_1x.py',
    '../_base_/mmdet_runtime.py',
]
