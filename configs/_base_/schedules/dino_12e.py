# DINO's 12 epochs: the backbone learns at a tenth of the rate. Norms, biases and what the backbone names in no_weight_decay() do not
# decay, which is ours: in mmdet's schedule they do.
train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=12, val_interval=1)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
param_scheduler = [dict(type='MultiStepLR', begin=0, end=12, by_epoch=True, milestones=[11], gamma=0.1)]
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='csan_mm.OptimWrapperConstructor',
    paramwise_cfg=dict(norm_decay_mult=0.0, bias_decay_mult=0.0, custom_keys={'backbone': dict(lr_mult=0.1)}),
    optimizer=dict(type='AdamW', lr=0.0001, weight_decay=0.0001),
    clip_grad=dict(max_norm=0.1, norm_type=2),
)
auto_scale_lr = dict(enable=False, base_batch_size=16)  # 8 GPUs x 2 images
