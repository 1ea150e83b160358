# As cbt-c128_cbt_1xb8-3k_digits-128x128.py, with softmax attention in the encoder: a small ViT with a convolutional stem.
# Paper:    none, this is a check that everything works
# Measured: see configs/cbsa/README.md
# Weights:  what cbt-softmax-c128_1xb32-30e_digits-cls.py trains, as cbt-softmax-c128_digits.safetensors
# Command:  python tools/train.py configs/digits/cbt-softmax-c128_cbt_1xb8-3k_digits-128x128.py --cfg-options data_root=data/digits3000/ade20k/
_base_ = './cbt-c128_cbt_1xb8-3k_digits-128x128.py'
model = dict(
    backbone=dict(
        mixer=dict(_delete_=True, type='softmax'),
        init_cfg=dict(checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/cbt-softmax-c128_digits.safetensors'),
    )
)
