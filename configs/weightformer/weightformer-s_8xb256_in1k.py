# As weightformer-t_8xb256_in1k.py, with WeightFormer-S.
# Paper:    WeightFormer, arXiv 2605.01711: 81.3 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/weightformer/weightformer-s_8xb256_in1k.py 8 --amp
_base_ = './weightformer-t_8xb256_in1k.py'
model = dict(backbone=dict(arch='small', drop_path_rate=0.2), head=dict(in_channels=384))
