# As retinanet_swin-csan-t_fpn_1x_coco.py, with softmax attention: plain Swin-T.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 37.3 box AP (the paper gives no schedule)
# Measured: -
# Command:  tools/dist_train.sh configs/csan/retinanet_swin-t_fpn_1x_coco.py 8
_base_ = './retinanet_swin-csan-t_fpn_1x_coco.py'
model = dict(backbone=dict(mixer='softmax'))
