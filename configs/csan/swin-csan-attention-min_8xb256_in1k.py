# As swin-csan-min_8xb256_in1k.py, with attention in place of every MLP.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 72.4 top-1, 9.5M parameters
# Measured: -
# Command:  tools/dist_train.sh configs/csan/swin-csan-attention-min_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-min_8xb256_in1k.py'
model = dict(backbone=dict(ffn='attention'))
