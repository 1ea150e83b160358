# Mask R-CNN with Hiera-CSaN-T.
_base_ = './mask-rcnn.py'
model = dict(
    backbone=dict(
        type='csan_mm.HieraCSaN',
        arch='tiny',
        drop_path_rate=0.1,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/hiera_tiny_224.pth',
            source='meta-hiera',
        ),
    ),
    neck=dict(in_channels=[96, 192, 384, 768]),
)
