# DINO's 12 epochs: the backbone learns at a tenth of the rate. Norms, biases and what the backbone names in no_weight_decay() do not
# decay, which is ours: in mmdet's schedule they do.
_base_ = './adamw_1x.py'
param_scheduler = [dict(type='MultiStepLR', begin=0, end=12, by_epoch=True, milestones=[11], gamma=0.1)]
optim_wrapper = dict(
    paramwise_cfg=dict(custom_keys={'backbone': dict(lr_mult=0.1)}),
    optimizer=dict(_delete_=True, type='AdamW', lr=0.0001, weight_decay=0.0001),
    clip_grad=dict(max_norm=0.1, norm_type=2),
)
