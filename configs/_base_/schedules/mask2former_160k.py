# Mask2Former's 160,000 iterations on ADE20K: the backbone learns at a tenth of the rate; norms, embeddings, and (ours) biases do not
# decay.
train_cfg = dict(type='IterBasedTrainLoop', max_iters=160000, val_interval=5000)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
param_scheduler = [dict(type='PolyLR', eta_min=0, power=0.9, begin=0, end=160000, by_epoch=False)]
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='csan_mm.OptimWrapperConstructor',
    paramwise_cfg=dict(
        norm_decay_mult=0.0,
        bias_decay_mult=0.0,
        custom_keys={
            'backbone': dict(lr_mult=0.1),
            'query_embed': dict(decay_mult=0.0),
            'query_feat': dict(decay_mult=0.0),
            'level_embed': dict(decay_mult=0.0),
        },
    ),
    optimizer=dict(type='AdamW', lr=0.0001, weight_decay=0.05, eps=1e-8, betas=(0.9, 0.999)),
    clip_grad=dict(max_norm=0.01, norm_type=2),
)
auto_scale_lr = dict(enable=False, base_batch_size=16)  # 8 GPUs x 2 images
