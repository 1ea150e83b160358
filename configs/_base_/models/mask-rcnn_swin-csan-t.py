# Mask R-CNN with Swin-CSaN-T.
_base_ = './mask-rcnn.py'
model = dict(
    backbone=dict(
        type='csan_mm.SwinCSaN',
        arch='tiny',
        drop_path_rate=0.2,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/swin_tiny_patch4_window7_224.pth',
            source='ms-swin',
        ),
    ),
    neck=dict(in_channels=[96, 192, 384, 768]),
)
