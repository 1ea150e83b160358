# COCO with large-scale jitter on 1024 x 1024 as Mask2Former trains; tested at 1333 x 800.
_base_ = './coco_instance.py'
image_size = (1024, 1024)
train_pipeline = [
    dict(type='LoadImageFromFile', to_float32=True),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(type='RandomFlip', prob=0.5),
    dict(type='RandomResize', scale=image_size, ratio_range=(0.1, 2.0), resize_type='Resize', keep_ratio=True),
    dict(type='RandomCrop', crop_size=image_size, crop_type='absolute', recompute_bbox=True, allow_negative_crop=True),
    dict(type='FilterAnnotations', min_gt_bbox_wh=(1e-5, 1e-5), by_mask=True),
    dict(type='PackDetInputs'),
]
# The schedule counts iterations.
train_dataloader = dict(sampler=dict(type='InfiniteSampler'), dataset=dict(pipeline=train_pipeline))
