# 12 epochs of AdamW. Norms, biases and what the backbone names in no_weight_decay() do not decay.
train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=12, val_interval=1)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=1000),
    dict(type='MultiStepLR', begin=0, end=12, by_epoch=True, milestones=[8, 11], gamma=0.1),
]
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='csan_mm.OptimWrapperConstructor',
    paramwise_cfg=dict(norm_decay_mult=0.0, bias_decay_mult=0.0),
    optimizer=dict(type='AdamW', lr=0.0001, betas=(0.9, 0.999), weight_decay=0.05),
)
auto_scale_lr = dict(enable=False, base_batch_size=16)  # 8 GPUs x 2 images
