# The CBT decoder on a small ViT that was trained to classify digits, on more images than the digits have by themselves:
# python tools/dataset_tools/make_digits.py data/digits3000 --forms ade20k imagenet --train-count 3000 --val-count 500
# Paper:    none, this is a check that everything works
# Measured: see configs/cbsa/README.md
# Weights:  what vit-c64_1xb64-40e_digits-cls.py trains, as vit-c64_digits.safetensors in checkpoints/ or $CSAN_MM_WEIGHTS:
#           python tools/export_backbone.py CONFIG CHECKPOINT checkpoints/vit-c64_digits
# Command:  python tools/train.py configs/digits/vit-c64_cbt_1xb8-3k_digits-128x128.py --cfg-options data_root=data/digits3000/ade20k/
_base_ = './cbt-c128_cbt_1xb8-3k_digits-128x128.py'
model = dict(
    backbone=dict(
        _delete_=True,
        type='csan_mm.ViTCSaN',
        arch=dict(embed_dims=64, depth=4, num_heads=4),
        mixer='softmax',
        img_size=128,
        patch_size=8,
        init_cfg=dict(
            type='csan_mm.Pretrained', checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/vit-c64_digits.safetensors'
        ),
    ),
    decode_head=dict(in_channels=64, cls_std=1.0),
)
