# 12 epochs of SGD at RetinaNet's rate. Norms, biases and what the backbone names in no_weight_decay() do not decay, which is ours:
# in mmdet's schedule they do.
_base_ = './adamw_1x.py'
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=500),
    dict(type='MultiStepLR', begin=0, end=12, by_epoch=True, milestones=[8, 11], gamma=0.1),
]
optim_wrapper = dict(optimizer=dict(_delete_=True, type='SGD', lr=0.01, momentum=0.9, weight_decay=0.0001))
