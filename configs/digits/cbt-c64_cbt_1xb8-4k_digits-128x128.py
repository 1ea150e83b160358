# As vit-c64_cbt_1xb8-4k_digits-128x128.py, on a small CBT.
# Paper:    none, this is a check that everything works
# Measured: see configs/cbsa/README.md
# Command:  python tools/train.py configs/digits/cbt-c64_cbt_1xb8-4k_digits-128x128.py
_base_ = './vit-c64_cbt_1xb8-4k_digits-128x128.py'
model = dict(
    backbone=dict(_delete_=True, type='csan_mm.CBT', arch=dict(embed_dims=64, depth=4, num_heads=4), img_size=128)
)
