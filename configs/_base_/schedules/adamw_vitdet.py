# ViTDet's schedule for COCO: 100 epochs of 64 images per iteration (184,375 iterations in the paper), AdamW with layer decay,
# steps at 8/9 and 26/27 of the way. Norms, biases and what the backbone names in no_weight_decay() do not decay.
_base_ = './adamw_1x.py'
train_cfg = dict(max_epochs=100, val_interval=5)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=250),
    dict(type='MultiStepLR', begin=0, end=100, by_epoch=True, milestones=[89, 96], gamma=0.1),
]
optim_wrapper = dict(
    constructor='csan_mm.LayerDecayOptimWrapperConstructor',
    paramwise_cfg=dict(layer_decay_rate=0.7),
    optimizer=dict(weight_decay=0.1),
)
auto_scale_lr = dict(base_batch_size=64)  # 4 nodes x 8 GPUs x 2 images
