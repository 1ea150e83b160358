# As mavit-t_8xb128_in1k.py, with MAViT-L.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 86.0 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/mala/mavit-l_8xb128_in1k.py 8 --amp
_base_ = './mavit-t_8xb128_in1k.py'
model = dict(
    backbone=dict(arch='large', drop_path_rate=0.55),
    neck=dict(in_channels=640, out_channels=2560),
    head=dict(in_channels=2560),
)
