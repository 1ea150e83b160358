# As vit-cbsa-b_8xb64_in1k.py, without contraction (agent attention).
# Paper:    CBSA, NeurIPS 2025: -
# Measured: -
# Command:  tools/dist_train.sh configs/cbsa/vit-cbsa-nc-b_8xb64_in1k.py 8
_base_ = './vit-cbsa-b_8xb64_in1k.py'
model = dict(backbone=dict(mixer=dict(contraction=False)))
