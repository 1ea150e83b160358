# MAViT's authors' 300 + 10 epochs on ImageNet: 5e-4 per 512 images, 1024 images; timm's cosine, one rate per epoch; EMA.
_base_ = './adamw_300e.py'
param_scheduler = [
    dict(type='csan_mm.WarmupCosineLR', warmup=5, T_max=300, start_factor=0.001, eta_min=1e-5, by_epoch=True)
]
optim_wrapper = dict(optimizer=dict(lr=0.001))
# Averaging keeps 0.99996^(batch/512) of the old weights.
custom_hooks = [dict(type='EMAHook', momentum=1 - 0.99996**2, update_buffers=True, priority='ABOVE_NORMAL')]
auto_scale_lr = dict(base_batch_size=1024)
