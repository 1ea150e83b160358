# 12 epochs of AdamW over the digits, for networks that start from scratch. Norms, biases and what the backbone names in
# no_weight_decay() do not decay.
train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=12, val_interval=1)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(type='CosineAnnealingLR', eta_min=1e-5, by_epoch=True, begin=0, end=12, convert_to_iter_based=True),
]
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='csan_mm.OptimWrapperConstructor',
    paramwise_cfg=dict(norm_decay_mult=0.0, bias_decay_mult=0.0),
    optimizer=dict(type='AdamW', lr=0.001, betas=(0.9, 0.999), weight_decay=0.05),
    clip_grad=dict(max_norm=5.0),
)
auto_scale_lr = dict(enable=False, base_batch_size=8)
randomness = dict(seed=0)
