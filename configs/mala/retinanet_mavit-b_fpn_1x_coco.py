# As retinanet_mavit-t_fpn_1x_coco.py, with MAViT-B.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Weights:  mavit_b.pth
# Command:  tools/dist_train.sh configs/mala/retinanet_mavit-b_fpn_1x_coco.py 8 --amp
_base_ = './retinanet_mavit-t_fpn_1x_coco.py'
model = dict(
    backbone=dict(
        arch='base',
        drop_path_rate=0.4,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_b.pth'),
    ),
    neck=dict(in_channels=[192, 384, 512]),
)
