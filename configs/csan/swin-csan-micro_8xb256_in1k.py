# As swin-csan-t_8xb256_in1k.py, with Swin-CSaN-Micro.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   the paper's; drop path 0.1 is ours
# Command:  tools/dist_train.sh configs/csan/swin-csan-micro_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(arch='micro', drop_path_rate=0.1))
