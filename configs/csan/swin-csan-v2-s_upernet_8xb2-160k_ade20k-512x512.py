# As swin-csan-s_upernet_8xb2-160k_ade20k-512x512.py, with Swin-CSaN-S, version 2.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Weights:  of swin-csan-v2-s_8xb256_in1k.py, or the authors' training: a plain Swin lacks the 7x7 convolution, through
#           which all attention goes, and none are published
# Command:  tools/dist_train.sh configs/csan/swin-csan-v2-s_upernet_8xb2-160k_ade20k-512x512.py 8
_base_ = './swin-csan-s_upernet_8xb2-160k_ade20k-512x512.py'
model = dict(
    backbone=dict(
        version='v2',
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/swin-csan-v2-s_in1k.pth', source='csan-swin'),
    )
)
