# 160,000 iterations of AdamW. Norms, biases and what the backbone names in no_weight_decay() do not decay.
sync_bn = 'torch'  # 2 images per GPU are too few for a head's BN; mmengine's Runner reads this when there are several processes
train_cfg = dict(type='IterBasedTrainLoop', max_iters=160000, val_interval=16000)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
param_scheduler = [
    dict(type='LinearLR', start_factor=1e-6, by_epoch=False, begin=0, end=1500),
    dict(type='PolyLR', eta_min=0.0, power=1.0, begin=1500, end=160000, by_epoch=False),
]
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='csan_mm.OptimWrapperConstructor',
    paramwise_cfg=dict(norm_decay_mult=0.0, bias_decay_mult=0.0),
    optimizer=dict(type='AdamW', lr=0.00006, betas=(0.9, 0.999), weight_decay=0.01),
)
auto_scale_lr = dict(enable=False, base_batch_size=16)  # 8 GPUs x 2 images
