# COCO at 640 x 640 with mosaic and MixUp, as RTMDet trains; the last epochs go without them (train_pipeline_stage2).
_base_ = './coco_detection.py'
image_size = (640, 640)
pad = dict(type='Pad', size=image_size, pad_val=dict(img=(114, 114, 114)))
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True),
    dict(type='CachedMosaic', img_scale=image_size, pad_val=114.0),
    dict(type='RandomResize', scale=(1280, 1280), ratio_range=(0.1, 2.0), keep_ratio=True),
    dict(type='RandomCrop', crop_size=image_size),
    dict(type='YOLOXHSVRandomAug'),
    dict(type='RandomFlip', prob=0.5),
    pad,
    dict(
        type='CachedMixUp',
        img_scale=image_size,
        ratio_range=(1.0, 1.0),
        max_cached_images=20,
        pad_val=(114, 114, 114),
    ),
    dict(type='PackDetInputs'),
]
train_pipeline_stage2 = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True),
    dict(type='RandomResize', scale=image_size, ratio_range=(0.1, 2.0), keep_ratio=True),
    dict(type='RandomCrop', crop_size=image_size),
    dict(type='YOLOXHSVRandomAug'),
    dict(type='RandomFlip', prob=0.5),
    pad,
    dict(type='PackDetInputs'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=image_size, keep_ratio=True),
    pad,
    dict(type='LoadAnnotations', with_bbox=True),
    dict(type='PackDetInputs', meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor')),
]
train_dataloader = dict(
    batch_size=16, num_workers=10, batch_sampler=None, pin_memory=True, dataset=dict(pipeline=train_pipeline)
)
val_dataloader = dict(batch_size=5, num_workers=10, dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(proposal_nums=(100, 1, 10))
test_evaluator = val_evaluator
custom_hooks = [
    dict(type='EMAHook', ema_type='ExpMomentumEMA', momentum=0.0002, update_buffers=True, priority=49),
    dict(type='PipelineSwitchHook', switch_epoch=90, switch_pipeline=train_pipeline_stage2),
]
