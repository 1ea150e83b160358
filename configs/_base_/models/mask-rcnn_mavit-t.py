# Mask R-CNN with MAViT-T.
_base_ = './mask-rcnn.py'
model = dict(
    backbone=dict(
        type='csan_mm.MAViT',
        arch='tiny',
        drop_path_rate=0.1,
        init_cfg=dict(
            type='csan_mm.Pretrained',
            checkpoint='{{$CSAN_MM_WEIGHTS:checkpoints}}/mavit_t.pth',
            source='mala',
        ),
    ),
    neck=dict(in_channels=[64, 128, 256, 512]),
)
