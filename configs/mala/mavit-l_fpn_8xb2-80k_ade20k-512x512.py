# As mavit-t_fpn_8xb2-80k_ade20k-512x512.py, with MAViT-L.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Weights:  mavit_l.pth
# Command:  tools/dist_train.sh configs/mala/mavit-l_fpn_8xb2-80k_ade20k-512x512.py 8
_base_ = './mavit-t_fpn_8xb2-80k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        arch='large',
        drop_path_rate=0.55,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_l.pth'),
    ),
    neck=dict(in_channels=[96, 192, 448, 640]),
)
