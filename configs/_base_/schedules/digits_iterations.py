# 1,000 iterations of AdamW over the digits, for networks that start from scratch.
train_cfg = dict(type='IterBasedTrainLoop', max_iters=1000, val_interval=250)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(type='CosineAnnealingLR', eta_min=1e-5, by_epoch=False, begin=0, end=1000),
]
optim_wrapper = dict(
    type='OptimWrapper',
    paramwise_cfg=dict(
        custom_keys={'norm': dict(decay_mult=0.0), 'relative_position_bias_table': dict(decay_mult=0.0)}
    ),
    optimizer=dict(type='AdamW', lr=0.001, betas=(0.9, 0.999), weight_decay=0.05),
    clip_grad=dict(max_norm=5.0),
)
auto_scale_lr = dict(enable=False, base_batch_size=8)
randomness = dict(seed=0)
