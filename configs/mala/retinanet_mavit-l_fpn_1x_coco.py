# As retinanet_mavit-t_fpn_1x_coco.py, with MAViT-L.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Weights:  mavit_l.pth
# Command:  tools/dist_train.sh configs/mala/retinanet_mavit-l_fpn_1x_coco.py 8 --amp
_base_ = './retinanet_mavit-t_fpn_1x_coco.py'
model = dict(
    backbone=dict(
        arch='large',
        drop_path_rate=0.55,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_l.pth'),
    ),
    neck=dict(in_channels=[192, 448, 640]),
)
