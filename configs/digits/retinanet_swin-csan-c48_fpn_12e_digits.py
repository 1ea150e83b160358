# RetinaNet on the digits with a small Swin-CSaN (48 channels) from scratch: what `make demo` trains, in minutes on two cores.
# Paper:    none, this is a check that everything works
# Measured: see README.md
# Recipe:   own
# Command:  python tools/train.py configs/digits/retinanet_swin-csan-c48_fpn_12e_digits.py
_base_ = [
    '../_base_/models/retinanet.py',
    '../_base_/datasets/digits_detection.py',
    '../_base_/schedules/digits_epochs.py',
    '../_base_/mmdet_runtime.py',
]
norm_cfg = dict(type='GN', num_groups=8)  # without ImageNet weights the new layers learn faster with norms
model = dict(
    backbone=dict(
        type='csan_mm.SwinCSaN',
        arch=dict(embed_dims=48, depths=(1, 1, 2, 1), num_heads=(3, 6, 12, 24)),
        version='v2',
        window_size=4,  # maps of 32, 16, 8 and 4 cells: whole windows
        drop_path_rate=0.0,
    ),
    neck=dict(in_channels=[48, 96, 192, 384], out_channels=64, num_outs=4, norm_cfg=norm_cfg),
    bbox_head=dict(
        num_classes=10,
        in_channels=64,
        stacked_convs=2,
        feat_channels=64,
        norm_cfg=norm_cfg,
        reg_decoded_bbox=True,
        loss_bbox=dict(_delete_=True, type='GIoULoss', loss_weight=2.0),
        # A digit is 24 to 56 pixels high and 1.75 times as high as wide.
        anchor_generator=dict(octave_base_scale=5, ratios=[1.75], strides=[4, 8, 16, 32]),
    ),
)
optim_wrapper = dict(optimizer=dict(lr=0.002))
