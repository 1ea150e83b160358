# As mask-rcnn_swin-csan-t_fpn_ms-3x_coco.py, with Swin-CSaN-S.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Weights:  Microsoft's swin_small_patch4_window7_224.pth
# Command:  tools/dist_train.sh configs/csan/mask-rcnn_swin-csan-s_fpn_ms-3x_coco.py 8
_base_ = './mask-rcnn_swin-csan-t_fpn_ms-3x_coco.py'
model = dict(
    backbone=dict(
        arch='small',
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/swin_small_patch4_window7_224.pth'),
    )
)
