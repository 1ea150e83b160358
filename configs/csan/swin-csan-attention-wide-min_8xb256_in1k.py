# As swin-csan-attention-min_8xb256_in1k.py, with twice the width and heads in the second attention (found from the parameters).
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 75.9 top-1, 13.6M parameters
# Measured: -
# Command:  tools/dist_train.sh configs/csan/swin-csan-attention-wide-min_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-attention-min_8xb256_in1k.py'
model = dict(backbone=dict(attention_ratio=2))
