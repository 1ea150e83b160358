# As vit-mala-t_8xb128_in1k.py, with its own attention and feed-forward network: plain DeiT-T.
# Paper:    MALA, ICCV 2025, arXiv 2507.00698: 72.2 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/mala/deit-t_8xb128_in1k.py 8 --amp
_base_ = './vit-mala-t_8xb128_in1k.py'
model = dict(backbone=dict(mixer=dict(_delete_=True, type='softmax'), ffn='mlp'))
