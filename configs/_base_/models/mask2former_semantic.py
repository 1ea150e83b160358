# Mask2Former for semantic segmentation: mask2former.py's head, losses and matching in mmseg, whose names for mmdet's parts begin
# with mmdet. A config that uses it gives `backbone` and `decode_head.in_channels`: four levels, strides 4 to 32.
_base_ = './mask2former.py'
num_classes = 150
model = dict(
    _delete_=True,
    type='EncoderDecoder',
    data_preprocessor=dict(
        type='SegDataPreProcessor',
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True,
        pad_val=0,
        seg_pad_val=255,
        size=(512, 512),
        test_cfg=dict(size_divisor=32),
    ),
    decode_head=dict(
        {key: value for key, value in _base_.model.panoptic_head.items() if not key.endswith('_classes')},
        num_classes=num_classes,
        align_corners=False,
        pixel_decoder=dict(_base_.model.panoptic_head.pixel_decoder, type='mmdet.MSDeformAttnPixelDecoder'),
        loss_cls=dict(
            _base_.model.panoptic_head.loss_cls,
            type='mmdet.CrossEntropyLoss',
            class_weight=[1.0] * num_classes + [0.1],
        ),
        loss_mask=dict(_base_.model.panoptic_head.loss_mask, type='mmdet.CrossEntropyLoss'),
        loss_dice=dict(_base_.model.panoptic_head.loss_dice, type='mmdet.DiceLoss'),
        train_cfg=dict(
            _base_.model.train_cfg,
            assigner=dict(
                type='mmdet.HungarianAssigner',
                match_costs=[
                    dict(cost, type='mmdet.' + cost.type) for cost in _base_.model.train_cfg.assigner.match_costs
                ],
            ),
            sampler=dict(type='mmdet.MaskPseudoSampler'),
        ),
    ),
    train_cfg=dict(),
    test_cfg=dict(mode='whole'),
)
