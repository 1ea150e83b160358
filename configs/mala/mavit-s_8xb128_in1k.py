# As mavit-t_8xb128_in1k.py, with MAViT-S.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 84.7 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/mala/mavit-s_8xb128_in1k.py 8 --amp
_base_ = './mavit-t_8xb128_in1k.py'
model = dict(backbone=dict(arch='small', drop_path_rate=0.15))
