# As mavit-t_upernet_8xb2-160k_ade20k-512x512.py, with MAViT-B.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Weights:  mavit_b.pth
# Command:  tools/dist_train.sh configs/mala/mavit-b_upernet_8xb2-160k_ade20k-512x512.py 8 --amp
_base_ = './mavit-t_upernet_8xb2-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        arch='base',
        drop_path_rate=0.4,
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_b.pth'),
    ),
    decode_head=dict(in_channels=[96, 192, 384, 512]),
    auxiliary_head=dict(in_channels=384),
)
