# As swin-csan-t_8xb256_in1k.py, with one gain per head.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 82.5 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/csan/swin-csan-headwise-t_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(granularity='head'))
