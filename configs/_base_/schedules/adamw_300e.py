# ImageNet: 300 epochs of AdamW and 10 at the lowest rate, 1e-3 per 1024 images. timm's cosine counts from epoch 0, beneath the
# warm-up; timm spares parameters of one dimension, biases and what the backbone names in no_weight_decay() the decay.
train_cfg = dict(by_epoch=True, max_epochs=310, val_interval=1)
val_cfg = dict()
test_cfg = dict()
param_scheduler = [
    dict(
        type='csan_mm.WarmupCosineLR',
        warmup=20,
        T_max=300,
        start_factor=0.0005,  # 1e-6
        eta_min=1e-5,
        by_epoch=True,
        convert_to_iter_based=True,
    )
]
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='csan_mm.OptimWrapperConstructor',
    paramwise_cfg=dict(norm_decay_mult=0.0, bias_decay_mult=0.0, flat_decay_mult=0.0),
    optimizer=dict(type='AdamW', lr=0.002, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.05),
)
auto_scale_lr = dict(enable=False, base_batch_size=2048)
