# As swin-csan-min_8xb256_in1k.py, with Swin-CSaN-Min, version 2.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 77.1 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/csan/swin-csan-v2-min_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-min_8xb256_in1k.py'
model = dict(backbone=dict(version='v2'))
