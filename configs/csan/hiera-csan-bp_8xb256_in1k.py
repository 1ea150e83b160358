# As hiera-csan-t_8xb256_in1k.py, with Hiera-CSaN-B-Plus.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   the paper's; drop path 0.3 is ours
# Command:  tools/dist_train.sh configs/csan/hiera-csan-bp_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './hiera-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(arch='base-plus', drop_path_rate=0.3), head=dict(in_channels=896))
