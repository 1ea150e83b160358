# Mask R-CNN with MAViT-T, 12 epochs on COCO.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Recipe:   the authors' (AdamW, norms do not decay, fp16)
# Weights:  see retinanet_mavit-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/mala/mask-rcnn_mavit-t_fpn_1x_coco.py 8 --amp
_base_ = [
    '../_base_/models/mask-rcnn_mavit-t.py',
    '../_base_/datasets/coco_instance.py',
    '../_base_/schedules/mala_1x.py',
    '../_base_/mmdet_runtime.py',
]
