# As hiera-csan-b_8xb256_in1k.py, with softmax attention: plain Hiera-B.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 82.4 top-1
# Measured: -
# Recipe:   CSaN's, its stochastic depth too, so that the two differ in the attention alone
# Command:  tools/dist_train.sh configs/csan/hiera-b_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './hiera-csan-b_8xb256_in1k.py'
model = dict(backbone=dict(mixer='softmax'))
