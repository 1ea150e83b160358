# As swin-csan-b_8xb256_in1k.py, with Swin-CSaN-B, version 2.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Command:  tools/dist_train.sh configs/csan/swin-csan-v2-b_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-b_8xb256_in1k.py'
model = dict(backbone=dict(version='v2'))
