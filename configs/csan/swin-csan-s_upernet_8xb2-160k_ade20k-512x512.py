# As swin-csan-t_upernet_8xb2-160k_ade20k-512x512.py, with Swin-CSaN-S.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Weights:  Microsoft's swin_small_patch4_window7_224.pth
# Command:  tools/dist_train.sh configs/csan/swin-csan-s_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = './swin-csan-t_upernet_8xb2-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        arch='small',
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/swin_small_patch4_window7_224.pth'),
    )
)
