# As vit-csan-t_8xb256_in1k.py, with ViT-CSaN-S/16.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: -
# Measured: -
# Recipe:   the paper's; drop path 0.1 is ours
# Command:  tools/dist_train.sh configs/csan/vit-csan-s_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './vit-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(arch='small', drop_path_rate=0.1), head=dict(in_channels=384))
