# As cbt-t_8xb32_in1k.py, with CBT-S.
# Paper:    CBSA, NeurIPS 2025: 71.4 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/cbsa/cbt-s_8xb32_in1k.py 8 --amp
_base_ = './cbt-t_8xb32_in1k.py'
model = dict(backbone=dict(arch='small'), head=dict(in_channels=384))
