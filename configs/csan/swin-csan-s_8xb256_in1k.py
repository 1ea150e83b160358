# As swin-csan-t_8xb256_in1k.py, with Swin-CSaN-S.
# Paper:    Selection-as-Nonlinearity, CVPR 2026: 83.5 top-1
# Measured: -
# Command:  tools/dist_train.sh configs/csan/swin-csan-s_8xb256_in1k.py 8 --amp --cfg-options optim_wrapper.dtype=bfloat16
_base_ = './swin-csan-t_8xb256_in1k.py'
model = dict(backbone=dict(arch='small', drop_path_rate=0.3))
