# As swin-csan-t_8xb256_in1k.py, with Swin-CSaN-Min.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 75.0 top-1
# Measured: -
# Recipe:   the paper's; drop path 0.1 is ours
# Command:  tools/dist_train.sh configs/csan/swin-csan-min_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(arch='min', drop_path_rate=0.1))
