# RetinaNet on the digits with a small Swin-CSaN (48 channels) from scratch: what `make demo` trains, in minutes on two cores.
# Paper:    none, this is a check that everything works
# Expected: see README.md
# Recipe:   own
# Command:  python tools/train.py configs/digits/retinanet_swin-csan-c48_fpn_12e_digits.py
_base_ = [
    '../_base_/models/retinanet.py',
    '../_base_/datasets/digits_detection.py',
    '../_base_/schedules/digits_epochs.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.SwinCSaN',
        arch=dict(embed_dims=48, depths=(1, 1, 2, 1), num_heads=(3, 6, 12, 24)),
        drop_path_rate=0.0,
        out_indices=(1, 2, 3),
    ),
    neck=dict(in_channels=[96, 192, 384], out_channels=96, num_outs=3),
    bbox_head=dict(
        num_classes=10,
        in_channels=96,
        stacked_convs=2,
        feat_channels=96,
        anchor_generator=dict(octave_base_scale=3, ratios=[0.7, 1.0, 1.5], strides=[8, 16, 32]),
    ),
)
