# Semantic FPN. A config that uses it gives `backbone` and `neck.in_channels`: four levels, strides 4 to 32.
# About BN and SyncBN see upernet.py.
_base_ = './segmentor.py'
norm_cfg = dict(type='BN', requires_grad=True)
model = dict(
    neck=dict(type='FPN', out_channels=256, num_outs=4),
    decode_head=dict(
        type='FPNHead',
        in_channels=[256, 256, 256, 256],
        in_index=[0, 1, 2, 3],
        feature_strides=[4, 8, 16, 32],
        channels=128,
        dropout_ratio=0.1,
        num_classes=150,
        norm_cfg=norm_cfg,
        align_corners=False,
        loss_decode=dict(type='CrossEntropyLoss', use_sigmoid=False, loss_weight=1.0),
    ),
)
