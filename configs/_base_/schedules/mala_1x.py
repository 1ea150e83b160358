# MAViT's authors' 12 epochs on COCO: 4e-4 after 500 iterations of warm-up; norms do not decay, biases do.
_base_ = './adamw_1x.py'
sync_bn = 'torch'  # 2 images per GPU are too few for the backbone's BN; see adamw_160k.py
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=500),
    dict(type='MultiStepLR', begin=0, end=12, by_epoch=True, milestones=[8, 11], gamma=0.1),
]
optim_wrapper = dict(paramwise_cfg=dict(_delete_=True, norm_decay_mult=0.0), optimizer=dict(lr=0.0004))
