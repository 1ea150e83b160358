# RTMDet's 100 epochs with a Swin backbone, evaluated at every epoch of the last ten.
train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=100, val_interval=10, dynamic_intervals=[(90, 1)])
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
param_scheduler = [
    dict(type='LinearLR', start_factor=1e-5, by_epoch=False, begin=0, end=1000),
    dict(
        type='CosineAnnealingLR',
        eta_min=0.00005,
        begin=50,
        end=100,
        T_max=50,
        by_epoch=True,
        convert_to_iter_based=True,
    ),
]
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='csan_mm.OptimWrapperConstructor',
    paramwise_cfg=dict(norm_decay_mult=0.0, bias_decay_mult=0.0, bypass_duplicate=True),
    optimizer=dict(type='AdamW', lr=0.001, weight_decay=0.05),
)
auto_scale_lr = dict(enable=False, base_batch_size=128)  # 8 GPUs x 16 images
