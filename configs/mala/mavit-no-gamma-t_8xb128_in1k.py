# As mavit-t_8xb128_in1k.py, with gamma = 0 in the MALA stages.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: it diverges
# Measured: -
# Command:  tools/dist_train.sh configs/mala/mavit-no-gamma-t_8xb128_in1k.py 8 --amp
_base_ = './mavit-t_8xb128_in1k.py'
model = dict(backbone=dict(mala=dict(use_gamma=False)))
