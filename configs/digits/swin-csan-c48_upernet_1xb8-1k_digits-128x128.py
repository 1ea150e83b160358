# UPerNet on the digits with a small Swin-CSaN from scratch.
# Paper:    none, this is a check that everything works
# Measured: see README.md
# Recipe:   own
# Command:  python tools/train.py configs/digits/swin-csan-c48_upernet_1xb8-1k_digits-128x128.py
_base_ = [
    '../_base_/models/upernet.py',
    '../_base_/datasets/digits_segmentation.py',
    '../_base_/schedules/digits_iterations.py',
    '../_base_/mmseg_runtime.py',
]
# Nine pixels in ten are background: unweighted, training rests where there is nothing else.
class_weight = [0.1, *[1.0] * 10]
model = dict(
    data_preprocessor=dict(size=(128, 128)),
    backbone=dict(
        type='csan_mm.SwinCSaN',
        arch=dict(embed_dims=48, depths=(1, 1, 2, 1), num_heads=(3, 6, 12, 24)),
        version='v2',
        window_size=4,  # maps of 32, 16, 8 and 4 cells: whole windows
        drop_path_rate=0.0,
    ),
    decode_head=dict(
        in_channels=[48, 96, 192, 384], channels=96, num_classes=11, loss_decode=dict(class_weight=class_weight)
    ),
    auxiliary_head=dict(in_channels=192, channels=48, num_classes=11, loss_decode=dict(class_weight=class_weight)),
)
default_hooks = dict(checkpoint=dict(interval=250))
