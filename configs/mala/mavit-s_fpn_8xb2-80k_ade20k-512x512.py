# As mavit-t_fpn_8xb2-80k_ade20k-512x512.py, with MAViT-S.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Weights:  mavit_s.pth
# Command:  tools/dist_train.sh configs/mala/mavit-s_fpn_8xb2-80k_ade20k-512x512.py 8
_base_ = './mavit-t_fpn_8xb2-80k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        arch='small',
        drop_path_rate=0.15,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_s.pth'),
    ),
    neck=dict(in_channels=[64, 128, 320, 512]),
)
