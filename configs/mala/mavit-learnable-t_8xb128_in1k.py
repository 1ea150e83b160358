# As mavit-t_8xb128_in1k.py, with learned beta and gamma in the MALA stages.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 71.7 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/mala/mavit-learnable-t_8xb128_in1k.py 8 --amp
_base_ = './mavit-t_8xb128_in1k.py'
model = dict(backbone=dict(mala=dict(learnable=True)))
