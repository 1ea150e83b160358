# As deit-t_8xb128_in1k.py, with DeiT-S.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: -
# Measured: -
# Command:  tools/dist_train.sh configs/mala/deit-s_8xb128_in1k.py 8 --amp
_base_ = './deit-t_8xb128_in1k.py'
model = dict(backbone=dict(arch='small'), head=dict(in_channels=384))
