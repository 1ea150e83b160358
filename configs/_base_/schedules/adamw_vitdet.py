# ViTDet's schedule for COCO: 100 epochs of 64 images per iteration (184,375 iterations in the paper), AdamW with layer decay,
# steps at 8/9 and 26/27 of the way. Norms, biases and what the backbone names in no_weight_decay() do not decay.
train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=100, val_interval=5)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=250),
    dict(type='MultiStepLR', begin=0, end=100, by_epoch=True, milestones=[89, 96], gamma=0.1),
]
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='csan_mm.LayerDecayOptimWrapperConstructor',
    paramwise_cfg=dict(layer_decay_rate=0.7, norm_decay_mult=0.0, bias_decay_mult=0.0),
    optimizer=dict(type='AdamW', lr=0.0001, betas=(0.9, 0.999), weight_decay=0.1),
)
auto_scale_lr = dict(enable=False, base_batch_size=64)  # 4 nodes x 8 GPUs x 2 images
