# UPerNet with an auxiliary FCN head. A config that uses it gives `backbone`, `decode_head.in_channels` (four levels, strides
# 4 to 32) and `auxiliary_head.in_channels` (the third of them).
#
# The heads have BN. Under several processes `sync_bn = 'torch'`, which stands in the schedules with few images per GPU, makes
# mmengine's Runner turn it into SyncBN; one process, a CPU and an exported model need nothing.
_base_ = './segmentor.py'
norm_cfg = dict(type='BN', requires_grad=True)
model = dict(
    decode_head=dict(
        type='UPerHead',
        in_index=[0, 1, 2, 3],
        pool_scales=(1, 2, 3, 6),
        channels=512,
        dropout_ratio=0.1,
        num_classes=150,
        norm_cfg=norm_cfg,
        align_corners=False,
        loss_decode=dict(type='CrossEntropyLoss', use_sigmoid=False, loss_weight=1.0),
    ),
    auxiliary_head=dict(
        type='FCNHead',
        in_index=2,
        channels=256,
        num_convs=1,
        concat_input=False,
        dropout_ratio=0.1,
        num_classes=150,
        norm_cfg=norm_cfg,
        align_corners=False,
        loss_decode=dict(type='CrossEntropyLoss', use_sigmoid=False, loss_weight=0.4),
    ),
)
