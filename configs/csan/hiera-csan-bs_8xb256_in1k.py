# As hiera-csan-t_8xb256_in1k.py, with Hiera-CSaN-B-Slim.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   the paper's; drop path 0.2 is ours
# Command:  tools/dist_train.sh configs/csan/hiera-csan-bs_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './hiera-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(arch='base-slim', drop_path_rate=0.2), head=dict(in_channels=576))
