# As cbt-t_8xb32_in1k.py, without contraction (agent attention).
# Paper:    CBSA, NeurIPS 2025: 63.8 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/cbsa/cbt-no-contraction-t_8xb32_in1k.py 8 --amp
_base_ = './cbt-t_8xb32_in1k.py'
model = dict(backbone=dict(mixer=dict(type='cbsa', contraction=False)))
