# As vit-csan-t_8xb256_in1k.py, with ViT-CSaN-B-Slim/16.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 82.1 top-1
# Measured: -
# Recipe:   the paper's; drop path 0.2 is ours
# Command:  tools/dist_train.sh configs/csan/vit-csan-bs_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './vit-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(arch='base-slim', drop_path_rate=0.2), head=dict(in_channels=512))
