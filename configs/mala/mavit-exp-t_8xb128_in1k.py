# As mavit-t_8xb128_in1k.py, with the kernel exp in the MALA stages.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 82.9 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/mala/mavit-exp-t_8xb128_in1k.py 8 --amp
_base_ = './mavit-t_8xb128_in1k.py'
model = dict(backbone=dict(mala=dict(kernel='exp')))
