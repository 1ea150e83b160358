# As swin-csan-t_8xb256_in1k.py, with softmax attention: plain Swin-T.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 81.3 top-1
# Measured: -
# Recipe:   CSaN's, its stochastic depth too, so that the two differ in the attention alone
# Command:  tools/dist_train.sh configs/csan/swin-t_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(mixer='softmax'))
