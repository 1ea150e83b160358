# As swin-csan-s_8xb256_in1k.py, with softmax attention: plain Swin-S.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   CSaN's, its stochastic depth too, so that the two differ in the attention alone
# Command:  tools/dist_train.sh configs/csan/swin-s_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-s_8xb256_in1k.py'
model = dict(backbone=dict(mixer='softmax'))
