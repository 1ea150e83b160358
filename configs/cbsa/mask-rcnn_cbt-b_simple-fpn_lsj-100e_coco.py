# As mask-rcnn_cbt-s_simple-fpn_lsj-100e_coco.py, with CBT-B.
# Paper:    CBSA, NeurIPS 2025: -
# Measured: -
# Weights:  the authors' CBT-B as cbt_base.pth
# Command:  NNODES=4 NODE_RANK=0 MASTER_ADDR=HOST tools/dist_train.sh configs/cbsa/mask-rcnn_cbt-b_simple-fpn_lsj-100e_coco.py 8  # on the other nodes NODE_RANK 1 to 3
_base_ = './mask-rcnn_cbt-s_simple-fpn_lsj-100e_coco.py'
model = dict(
    backbone=dict(arch='base', init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/cbt_base.pth')),
    neck=dict(in_channels=768),
)
