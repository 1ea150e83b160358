# Mask2Former's 50 epochs on COCO, counted in iterations.
_base_ = './mask2former_160k.py'
train_cfg = dict(max_iters=368750, dynamic_intervals=[(365001, 368750)])  # the last evaluation is at the end
param_scheduler = [
    dict(type='MultiStepLR', begin=0, end=368750, by_epoch=False, milestones=[327778, 355092], gamma=0.1)
]
