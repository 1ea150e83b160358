# As cbt-t_8xb32_in1k.py, with CBT-L.
# Paper:    CBSA, NeurIPS 2025: 74.4 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/cbsa/cbt-l_8xb32_in1k.py 8 --amp
_base_ = './cbt-t_8xb32_in1k.py'
model = dict(backbone=dict(arch='large'), head=dict(in_channels=1024))
