# Mask R-CNN on the digits with a small Swin-CSaN from scratch.
# Paper:    none, this is a check that everything works
# Measured: see README.md
# Recipe:   own
# Command:  python tools/train.py configs/digits/mask-rcnn_swin-csan-c48_fpn_12e_digits.py
_base_ = [
    '../_base_/models/mask-rcnn.py',
    '../_base_/datasets/digits_instance.py',
    '../_base_/schedules/digits_epochs.py',
    '../_base_/mmdet_runtime.py',
]
model = dict(
    backbone=dict(
        type='csan_mm.SwinCSaN',
        arch=dict(embed_dims=48, depths=(1, 1, 2, 1), num_heads=(3, 6, 12, 24)),
        version='v2',
        window_size=4,  # maps of 32, 16, 8 and 4 cells: whole windows
        drop_path_rate=0.0,
    ),
    neck=dict(in_channels=[48, 96, 192, 384], out_channels=96, num_outs=4),
    rpn_head=dict(in_channels=96, feat_channels=96, anchor_generator=dict(scales=[6], strides=[4, 8, 16, 32])),
    roi_head=dict(
        bbox_roi_extractor=dict(out_channels=96),
        bbox_head=dict(in_channels=96, fc_out_channels=256, num_classes=10),
        mask_roi_extractor=dict(out_channels=96),
        mask_head=dict(num_convs=2, in_channels=96, conv_out_channels=96, num_classes=10),
    ),
    train_cfg=dict(rpn_proposal=dict(nms_pre=500, max_per_img=100), rcnn=dict(sampler=dict(num=64))),
    test_cfg=dict(rpn=dict(nms_pre=500, max_per_img=100)),
)
