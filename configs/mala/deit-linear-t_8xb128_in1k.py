# As deit-t_8xb128_in1k.py, with linear attention; elu + 1 without a rotation is our reading.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 69.8 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/mala/deit-linear-t_8xb128_in1k.py 8 --amp
_base_ = './deit-t_8xb128_in1k.py'
model = dict(backbone=dict(mixer=dict(type='linear', rotary=False)))
