# As swin-csan-min_8xb256_in1k.py, with softmax attention: plain Swin-Min.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 72.2 top-1
# Measured: -
# Recipe:   CSaN's, its stochastic depth too, so that the two differ in the attention alone
# Command:  tools/dist_train.sh configs/csan/swin-min_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-min_8xb256_in1k.py'
model = dict(backbone=dict(mixer='softmax'))
