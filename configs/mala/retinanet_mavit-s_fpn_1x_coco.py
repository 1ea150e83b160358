# As retinanet_mavit-t_fpn_1x_coco.py, with MAViT-S.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Weights:  mavit_s.pth
# Command:  tools/dist_train.sh configs/mala/retinanet_mavit-s_fpn_1x_coco.py 8 --amp
_base_ = './retinanet_mavit-t_fpn_1x_coco.py'
model = dict(
    backbone=dict(
        arch='small',
        drop_path_rate=0.15,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_s.pth'),
    ),
    neck=dict(in_channels=[128, 320, 512]),
)
