# As mask-rcnn_cbt-s_simple-fpn_lsj-100e_coco.py, with CBT-B.
# Paper:    CBSA, NeurIPS 2025: -
# Measured: -
# Weights:  the authors' CBT-B as cbt_base.pth
# Command:  tools/dist_train.sh configs/cbsa/mask-rcnn_cbt-b_simple-fpn_lsj-100e_coco.py 64
_base_ = './mask-rcnn_cbt-s_simple-fpn_lsj-100e_coco.py'
model = dict(
    backbone=dict(arch='base', init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/cbt_base.pth')),
    neck=dict(in_channels=768),
)
