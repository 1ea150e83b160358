# As cbt-s_upernet_8xb2-160k_ade20k-512x512.py, with CBT-B.
# Paper:    CBSA, NeurIPS 2025: -
# Measured: -
# Weights:  the authors' CBT-B as cbt_base.pth
# Command:  tools/dist_train.sh configs/cbsa/cbt-b_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = './cbt-s_upernet_8xb2-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(arch='base', init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/cbt_base.pth')),
    neck=dict(in_channels=768),
)
