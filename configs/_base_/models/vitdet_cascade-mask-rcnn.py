# Cascade Mask R-CNN as ViTDet has it: simple feature pyramid, two convolutions in the RPN, four in each box head, LayerNorm
# everywhere. A config that uses it gives `backbone` with one map of stride 16 and `neck.in_channels`.
_base_ = './cascade-mask-rcnn.py'
norm_cfg = dict(type='csan_mm.LN2d', eps=1e-6)
model = dict(
    neck=dict(_delete_=True, type='csan_mm.SimpleFPN', out_channels=256, num_outs=5, norm_cfg=norm_cfg),
    rpn_head=dict(num_convs=2),
    roi_head=dict(
        bbox_head=[  # the list takes the place of the base's
            dict(
                type='Shared4Conv1FCBBoxHead',
                in_channels=256,
                conv_out_channels=256,
                fc_out_channels=1024,
                roi_feat_size=7,
                num_classes=80,
                bbox_coder=dict(
                    type='DeltaXYWHBBoxCoder', target_means=[0.0, 0.0, 0.0, 0.0], target_stds=[xy, xy, wh, wh]
                ),
                reg_class_agnostic=True,
                norm_cfg=norm_cfg,
                loss_cls=dict(type='CrossEntropyLoss', use_sigmoid=False, loss_weight=1.0),
                loss_bbox=dict(type='SmoothL1Loss', beta=1.0, loss_weight=1.0),
            )
            for xy, wh in [(0.1, 0.2), (0.05, 0.1), (0.033, 0.067)]
        ],
        mask_head=dict(norm_cfg=norm_cfg),
    ),
)
