# Classification of single digits with a small Swin-CSaN from scratch.
# Paper:    none, this is a check that everything works
# Measured: see README.md
# Recipe:   own
# Command:  python tools/train.py configs/digits/swin-csan-c48_1xb32-12e_digits-cls.py
_base_ = [
    '../_base_/models/image-classifier.py',
    '../_base_/datasets/digits_classification.py',
    '../_base_/schedules/digits_epochs.py',
    '../_base_/mmpretrain_runtime.py',
]
model = dict(
    data_preprocessor=dict(num_classes=10),
    backbone=dict(
        type='csan_mm.SwinCSaN',
        arch=dict(embed_dims=48, depths=(1, 1, 2, 1), num_heads=(3, 6, 12, 24)),
        version='v2',
        window_size=4,  # maps of 32, 16, 8 and 4 cells: whole windows
        drop_path_rate=0.0,
        out_indices=(3,),
    ),
    head=dict(in_channels=384, num_classes=10),
    train_cfg=None,
)
optim_wrapper = dict(optimizer=dict(lr=0.0005))  # at 0.001 and above it stays at chance for long
auto_scale_lr = dict(base_batch_size=32)
