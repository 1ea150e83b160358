# As swin-csan-t_8xb256_in1k.py, with Swin-CSaN-B.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   the paper's; drop path 0.5 is ours
# Command:  tools/dist_train.sh configs/csan/swin-csan-b_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(arch='base', drop_path_rate=0.5), head=dict(in_channels=1024))
