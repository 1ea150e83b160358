# As vit-c64_cbt_1xb8-3k_digits-128x128.py, on a small CBT.
# Paper:    none, this is a check that everything works
# Measured: see configs/cbsa/README.md
# Weights:  what cbt-c128_1xb32-30e_digits-cls.py trains, as cbt-c128_digits.safetensors
# Command:  python tools/train.py configs/digits/cbt-c128_cbt_1xb8-3k_digits-128x128.py --cfg-options data_root=data/digits3000/ade20k/
_base_ = './vit-c64_cbt_1xb8-3k_digits-128x128.py'
model = dict(
    backbone=dict(
        _delete_=True,
        type='csan_mm.CBT',
        arch=dict(embed_dims=128, depth=4, num_heads=4),
        mixer=dict(type='cbsa', rep_grid=4),  # as coarse as in classification: 2 x 2 patches each
        img_size=128,
        init_cfg=dict(
            type='csan_mm.Pretrained', checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/cbt-c128_digits.safetensors'
        ),
    ),
    decode_head=dict(in_channels=128),
)
