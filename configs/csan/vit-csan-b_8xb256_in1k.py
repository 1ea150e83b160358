# As vit-csan-t_8xb256_in1k.py, with ViT-CSaN-B/16.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: - (plain ViT-B 81.8 top-1)
# Measured: -
# Recipe:   the paper's; drop path 0.3 is ours
# Command:  tools/dist_train.sh configs/csan/vit-csan-b_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './vit-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(arch='base', drop_path_rate=0.3), head=dict(in_channels=768))
