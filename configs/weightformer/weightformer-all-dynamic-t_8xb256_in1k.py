# As weightformer-t_8xb256_in1k.py, with all 17 blocks dynamic; the paper's training of it diverges.
# Paper:    WeightFormer, arXiv 2605.01711: 70.2 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/weightformer/weightformer-all-dynamic-t_8xb256_in1k.py 8 --amp
_base_ = './weightformer-t_8xb256_in1k.py'
model = dict(backbone=dict(dynamic=1))
