# As cbt-s_8xb32_in1k.py, with ToST's TSSA in place of CBSA.
# Paper:    CBSA, NeurIPS 2025: 68.5 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/cbsa/cbt-tssa-s_8xb32_in1k.py 8 --amp
_base_ = './cbt-s_8xb32_in1k.py'
model = dict(backbone=dict(mixer='tssa'))
