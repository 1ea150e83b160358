# As cbt-t_8xb32_in1k.py, with ToST's TSSA in place of CBSA.
# Paper:    CBSA, NeurIPS 2025: 61.2 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/cbsa/cbt-tssa-t_8xb32_in1k.py 8 --amp
_base_ = './cbt-t_8xb32_in1k.py'
model = dict(backbone=dict(mixer='tssa'))
