# As cbt-c128_1xb32-30e_digits-cls.py, with softmax attention in place of CBSA, for comparison.
# Paper:    none, this is a check that everything works
# Measured: see configs/cbsa/README.md
# Command:  python tools/train.py configs/digits/cbt-softmax-c128_1xb32-30e_digits-cls.py --cfg-options data_root=data/digits3000/imagenet/
_base_ = './cbt-c128_1xb32-30e_digits-cls.py'
model = dict(backbone=dict(mixer=dict(_delete_=True, type='softmax')))
