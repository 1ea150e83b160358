# 1,000 iterations of AdamW over the digits, for networks that start from scratch.
_base_ = './digits_epochs.py'
train_cfg = dict(_delete_=True, type='IterBasedTrainLoop', max_iters=1000, val_interval=250)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(type='CosineAnnealingLR', eta_min=1e-5, by_epoch=False, begin=0, end=1000),
]
