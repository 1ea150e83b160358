# As mask-rcnn_mavit-t_fpn_1x_coco.py, with the whole backbone frozen: only neck and heads are trained.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Recipe:   ours
# Weights:  see retinanet_mavit-t_fpn_1x_coco.py
# Command:  tools/dist_train.sh configs/mala/mask-rcnn_mavit-t_frozen_fpn_1x_coco.py 8 --amp
_base_ = './mask-rcnn_mavit-t_fpn_1x_coco.py'
model = dict(backbone=dict(frozen_stages=4))
