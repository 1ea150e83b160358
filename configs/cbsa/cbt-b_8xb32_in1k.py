# As cbt-t_8xb32_in1k.py, with CBT-B.
# Paper:    CBSA, NeurIPS 2025: 73.4 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/cbsa/cbt-b_8xb32_in1k.py 8 --amp
_base_ = './cbt-t_8xb32_in1k.py'
model = dict(backbone=dict(arch='base'), head=dict(in_channels=768))
