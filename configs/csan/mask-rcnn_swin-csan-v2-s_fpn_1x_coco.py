# As mask-rcnn_swin-csan-s_fpn_1x_coco.py, with Swin-CSaN-S, version 2.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Weights:  of swin-csan-v2-s_8xb256_in1k.py, or the authors' training: a plain Swin lacks the 7x7 convolution, through
#           which all attention goes, and none are published
# Command:  tools/dist_train.sh configs/csan/mask-rcnn_swin-csan-v2-s_fpn_1x_coco.py 8
_base_ = './mask-rcnn_swin-csan-s_fpn_1x_coco.py'
model = dict(
    backbone=dict(
        version='v2',
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/swin-csan-v2-s_in1k.pth', source='csan-swin'),
    )
)
