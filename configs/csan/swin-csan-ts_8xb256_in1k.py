# As swin-csan-t_8xb256_in1k.py, with Swin-CSaN-T-Slim.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   the paper's; drop path 0.2 is ours
# Command:  tools/dist_train.sh configs/csan/swin-csan-ts_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(arch='tiny-slim'), head=dict(in_channels=512))
