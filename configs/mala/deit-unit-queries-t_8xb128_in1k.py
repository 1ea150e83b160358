# As deit-t_8xb128_in1k.py, with q / |q| in place of q.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 70.0 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/mala/deit-unit-queries-t_8xb128_in1k.py 8 --amp
_base_ = './deit-t_8xb128_in1k.py'
model = dict(backbone=dict(mixer=dict(unit_queries=True)))
