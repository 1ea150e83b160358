# As vit-mala-t_8xb128_in1k.py, with DeiT-S.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 24M parameters
# Measured: -
# Command:  tools/dist_train.sh configs/mala/vit-mala-s_8xb128_in1k.py 8 --amp
_base_ = './vit-mala-t_8xb128_in1k.py'
model = dict(backbone=dict(arch='small'), head=dict(in_channels=384))
