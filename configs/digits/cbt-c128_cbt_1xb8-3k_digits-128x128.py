# The CBT decoder on a small CBT that was trained to classify digits, on more images than the digits have by themselves:
# python tools/dataset_tools/make_digits.py data/digits3000 --forms ade20k imagenet --train-count 3000 --val-count 500
# Paper:    none, this is a check that everything works
# Measured: see configs/cbsa/README.md
# Recipe:   own
# Weights:  what cbt-c128_1xb32-30e_digits-cls.py trains, as cbt-c128_digits.safetensors in checkpoints/ or $CSAN_MM_WEIGHTS:
#           python tools/export_backbone.py CONFIG CHECKPOINT checkpoints/cbt-c128_digits
# Command:  python tools/train.py configs/digits/cbt-c128_cbt_1xb8-3k_digits-128x128.py --cfg-options data_root=data/digits3000/ade20k/
_base_ = [
    '../_base_/models/cbt-decoder.py',
    '../_base_/datasets/digits_segmentation.py',
    '../_base_/schedules/digits_iterations.py',
    '../_base_/mmseg_runtime.py',
]
model = dict(
    data_preprocessor=dict(size=(128, 128)),
    backbone=dict(
        type='csan_mm.CBT',
        arch=dict(embed_dims=128, depth=4, num_heads=4),
        mixer=dict(type='cbsa', rep_grid=4),  # as coarse as in classification: 2 x 2 patches each
        img_size=128,
        init_cfg=dict(
            type='csan_mm.Pretrained', checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/cbt-c128_digits.safetensors'
        ),
    ),
    decode_head=dict(in_channels=128, num_classes=11, num_layers=2, head_dims=32, rep_grid=4),
)
train_cfg = dict(max_iters=3000, val_interval=1000)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=100),
    dict(type='CosineAnnealingLR', eta_min=1e-5, by_epoch=False, begin=0, end=3000),
]
# With few classes the masks' LayerNorm holds the logits within +-sqrt(K - 1) of its gain, which therefore must grow fast.
optim_wrapper = dict(paramwise_cfg=dict(custom_keys={'mask_norm': dict(lr_mult=10.0, decay_mult=0.0)}))
default_hooks = dict(checkpoint=dict(interval=1000))
