# ImageNet as WeightFormer's authors use it: one view of an image per epoch; tested at 256 x 256, both sides, bicubic, centre crop
# of 224.
_base_ = './imagenet.py'
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=(256, 256), backend='pillow', interpolation='bicubic'),
    dict(type='CenterCrop', crop_size=224),
    dict(type='PackInputs'),
]
train_dataloader = dict(sampler=dict(_delete_=True, type='DefaultSampler', shuffle=True))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
