# ImageNet: 300 epochs of AdamW, the last 10 (of 310) at the lowest rate; 1e-3 per 1024 images.
train_cfg = dict(by_epoch=True, max_epochs=310, val_interval=1)
val_cfg = dict()
test_cfg = dict()
param_scheduler = [
    dict(type='LinearLR', start_factor=0.0005, by_epoch=True, begin=0, end=20, convert_to_iter_based=True),
    dict(type='CosineAnnealingLR', eta_min=1e-5, by_epoch=True, begin=20, end=300, convert_to_iter_based=True),
]
optim_wrapper = dict(
    type='OptimWrapper',
    paramwise_cfg=dict(
        norm_decay_mult=0.0,
        bias_decay_mult=0.0,
        custom_keys={
            'cls_token': dict(decay_mult=0.0),
            'pos_embed': dict(decay_mult=0.0),
            'relative_position_bias_table': dict(decay_mult=0.0),
        },
    ),
    optimizer=dict(type='AdamW', lr=0.002, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.05),
)
auto_scale_lr = dict(enable=False, base_batch_size=2048)
