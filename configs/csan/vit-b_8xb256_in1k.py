# As vit-csan-b_8xb256_in1k.py, with softmax attention: plain ViT-B/16.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 81.8 top-1
# Measured: -
# Recipe:   CSaN's, its stochastic depth too, so that the two differ in the attention alone
# Command:  tools/dist_train.sh configs/csan/vit-b_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './vit-csan-b_8xb256_in1k.py'
model = dict(backbone=dict(mixer='softmax'))
